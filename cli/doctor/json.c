// SPDX-License-Identifier: Apache-2.0
/* The report as JSON. */
#include <stdio.h>

#include "fields.h"
#include "output.h"
#include "report.h"

/*
 * Only clients that start DMA count: a function that was handed to a virtual machine is translated, too, but starts none for
 * this one.
 */
static const char *iommu_mode(const struct examination *x)
{
	const struct donard_client_info *client;
	bool any = false;

	for (size_t i = 0; (client = donard_client_get(x->clients, i)); i++) {
		const struct pci_function *function = pci_find(&x->pci, client->bdf);

		if (function && route_starts_dma(function) && route_translated(function))
			return "translates";
	}
	for (size_t i = 0; i < x->pci.count; i++)
		any |= x->pci.functions[i].iommu[0];
	return any ? "passes through" : "none";
}

static void add_firmware(const struct examination *x, struct json_object *model)
{
	static const char *const names[] = { "sys_vendor", "product_name", "board_name", "bios_vendor", "bios_version",
					     "bios_date" };
	struct json_object *firmware = json_object_new_object();
	char text[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		source_text(&x->source, text, sizeof(text), "/sys/class/dmi/id/%s", names[i]);
		cli_add_text(firmware, names[i], text);
	}
	json_object_object_add(model, "firmware", firmware);
}

static struct json_object *machine_of(const struct examination *x)
{
	struct json_object *model = json_object_new_object();

	cli_add_text(model, "kernel", x->kernel.release);
	cli_add_text(model, "kernel_arguments", x->kernel.cmdline);
	cli_add_text(model, "processor", x->kernel.cpu_model);
	json_object_object_add(model, "virtual", json_object_new_boolean(x->kernel.virtual));
	cli_add_text(model, "iommu", iommu_mode(x));
	json_object_object_add(model, "module_loaded", json_object_new_boolean(x->kernel.module_loaded));
	json_object_object_add(model, "p2pdma", json_object_new_boolean(x->kernel.p2pdma));
	cli_add_number(model, "clients", donard_client_count(x->clients));
	cli_add_number(model, "regions", donard_region_count(x->regions));
	cli_add_number(model, "candidates", donard_candidate_count(x->candidates));
	add_firmware(x, model);
	return model;
}

/* The route is unknown while the kernel's answer is missing. */
static const char *route_text(const struct pair *pair, const struct donard_route *route)
{
	return pair->tree.undecided ? "unknown" : donard_route_text(route->route);
}

static const char *verdict_word(const struct pair *pair)
{
	static const char *const words[] = { "no", "unlisted", "yes" };

	return pair->undecided ? "unknown" : words[pair->verdict];
}

static void add_reason(struct json_object *model, const struct pair *pair)
{
	char reason[sizeof(pair->route.reason) + 80];

	snprintf(reason, sizeof(reason), "%s%s", pair->route.reason, pair->proven && pair->route.unlisted_bridge ?
		 ", and the bytes arrived: --allow-unlisted-bridge uses it" : "");
	cli_add_text(model, "reason", reason);
}

static void add_proof(struct json_object *model, const struct proof *proof, const char *key, const char *state_key)
{
	static const char *const words[] = {
		[PROOF_PROVEN] = "proven", [PROOF_PREDICTED] = "predicted", [PROOF_FAILED] = "failed",
		[PROOF_REFUSED] = "refused", [PROOF_NOT_TRIED] = "not-tried",
	};
	struct json_object *part;

	if (proof->state == PROOF_NONE)
		return;
	part = json_object_new_object();
	cli_add_text(part, "state", words[proof->state]);
	cli_add_text(part, "reason", proof->reason);
	json_object_object_add(model, key, part);
	cli_add_text(model, state_key, words[proof->state]);
}

static struct json_object *pair_json(const struct pair *pair)
{
	struct json_object *model = json_object_new_object();

	cli_add_text(model, "client", pair->client->name);
	cli_add_text(model, "client_type", donard_client_type_text(pair->client->type));
	cli_add_text(model, "client_bdf", pair->client->bdf);
	cli_add_text(model, "memory", pair->memory->name);
	cli_add_text(model, "memory_bdf", pair->memory->function->bdf);
	json_object_object_add(model, "is_region", json_object_new_boolean(pair->memory->region != NULL));
	cli_add_text(model, "page_type", donard_page_type_text(pair->memory->page_type));
	cli_add_text(model, "evidence", donard_evidence_text(pair->proven ? DONARD_EVIDENCE_PROVEN : DONARD_EVIDENCE_PREDICTED));
	cli_add_text(model, "route", route_text(pair, &pair->route));
	cli_add_text(model, "predicted_by", pair->by_module ? "module" : "sysfs");
	cli_add_text(model, "sysfs_route", route_text(pair, &pair->tree.route));
	json_object_object_add(model, "sysfs_certain", json_object_new_boolean(pair->tree.certain && !pair->tree.undecided));
	cli_add_number(model, "distance", pair->route.distance);
	cli_add_text(model, "bridge", pair->route.bridge);
	add_reason(model, pair);
	cli_add_text(model, "verdict", verdict_word(pair));
	add_proof(model, &pair->proofs[DIRECTION_READ], "read", "read_state");
	add_proof(model, &pair->proofs[DIRECTION_WRITE], "write", "write_state");
	return model;
}

struct json_object *pairs_json(const struct pairs *pairs)
{
	struct json_object *models = json_object_new_array();

	for (size_t i = 0; i < pairs->count; i++)
		json_object_array_add(models, pair_json(&pairs->pairs[i]));
	return models;
}

static const char *code_word(unsigned int code)
{
	return code_entry(code)->word;
}

static const char *consequence_of(unsigned int code)
{
	return code_entry(code)->consequence;
}

static struct json_object *findings_json(const struct examination *x)
{
	static const struct cli_field fields[] = {
		CLI_FIELD("code", CLI_WORD, struct finding, code, .word_of = code_word),
		CLI_FIELD("severity", CLI_WORD, struct finding, severity, .word_of = severity_word),
		CLI_FIELD("object", CLI_TEXT, struct finding, object),
		CLI_FIELD("cause", CLI_TEXT, struct finding, cause),
		CLI_FIELD("consequence", CLI_WORD, struct finding, code, .word_of = consequence_of),
		CLI_FIELD("remedy", CLI_TEXT, struct finding, remedy),
		{ 0 },
	};
	struct json_object *findings = json_object_new_array();

	for (size_t i = 0; i < x->finding_count; i++)
		json_object_array_add(findings, cli_fields_json(fields, &x->findings[i], 0));
	return findings;
}

const char *judgement_word(enum judgement verdict)
{
	static const char *const words[] = {
		[JUDGED_READY] = "ready", [JUDGED_POSSIBLE] = "possible", [JUDGED_BLOCKED] = "blocked",
		[JUDGED_UNKNOWN] = "unknown", [JUDGED_UNLISTED] = "unlisted", [JUDGED_IMPOSSIBLE] = "impossible",
	};

	return words[verdict];
}

void doctor_print_json(const struct report *report)
{
	struct json_object *model = json_object_new_object();

	json_object_object_add(model, "machine", machine_of(report->x));
	json_object_object_add(model, "pairs", pairs_json(&report->pairs));
	json_object_object_add(model, "gpus", json_object_get(report->gpus));
	json_object_object_add(model, "findings", findings_json(report->x));
	cli_add_text(model, "verdict", judgement_word(report->verdict));
	cli_add_text(model, "summary", report->summary);
	json_object_object_add(model, "probed", json_object_new_boolean(report->x->request->probe));
	cli_print_json(model);
}
