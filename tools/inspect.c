#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tools/arguments.h"
#include "tools/commands.h"

static const ons_subcommand subcommand = {
    .name = "onstage inspect",
    .command = ONS_COMMAND_INSPECT,
    .summary = "Shows what is in a model: inputs, outputs, initialisers (trained or not, and why), operators, sizes.",
    .epilogue = "With --precision bf16 or fp16 it also shows which operators would compute in which type.",
    .model_optional = false,
};

static void print_list(const char *title, const ons_tensor_info *list, size_t count) {
    printf("%s\n", title);
    char name[ONS_SHOWN_BYTES], type[ONS_SHOWN_BYTES];
    for (size_t i = 0; i < count; ++i)
        printf("  %-32s %s\n", ons_shown(list[i].name, name), ons_shown(list[i].type, type));
}

static void print_lines(const char *title, const char *text) {
    printf("%s\n", title);
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        printf("  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static void print_inspection(const char *model, const ons_inspection *in) {
    printf("%s: ONNX IR %" PRId64 ", opset %" PRId64 ", made by %s\n", model, in->ir_version, in->opset, in->producer);
    print_list("inputs", in->inputs, in->input_count);
    print_list("outputs", in->outputs, in->output_count);
    printf("initialisers\n");
    char name[ONS_SHOWN_BYTES], type[ONS_SHOWN_BYTES];
    for (size_t i = 0; i < in->parameter_count; ++i)
        printf("  %-32s %-24s %s\n", ons_shown(in->parameters[i].name, name), ons_shown(in->parameters[i].type, type),
               in->parameters[i].reason);
    printf("  %" PRId64 " elements trained, %" PRId64 " not\n", in->trainable_elements, in->frozen_elements);
    printf("operators, with floating-point operations of one forward pass\n");
    for (size_t i = 0; i < in->operator_count; ++i)
        printf("  %-32s %6" PRId64 " %12.4g\n", in->operators[i].name, in->operators[i].count,
               in->operators[i].forward_flops);
    printf("  %-32s %6s %12.4g\n", "all", "", in->forward_flops);
    if (in->precision != NULL) print_lines("precision of the forward part", in->precision);
    if (in->assumptions[0] != '\0') print_lines("assumed", in->assumptions);
}

static void print_passes(const ons_inspection *in) {
    print_lines("passes", in->passes);
    printf("%s", in->graph_text);
}

int ons_command_inspect(int argc, char **argv) {
    ons_config *config;
    int code = ons_report_failure(ons_config_new(&config));
    if (code != 0) return code;
    const char *path;
    ons_model *model = NULL;
    ons_inspection *inspection = NULL;
    code = ons_parse_arguments(&subcommand, argc, argv, config, &path);
    if (code == 0) code = ons_report_failure(ons_model_load(path, config, &model));
    if (code == 0) code = ons_report_failure(ons_model_inspect(model, config, &inspection));
    if (code == 0 && inspection->passes == NULL) print_inspection(path, inspection);
    if (code == 0 && inspection->passes != NULL) print_passes(inspection);
    ons_inspection_free(inspection);
    ons_model_free(model);
    ons_config_free(config);
    return code;
}
