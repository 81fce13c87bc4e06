// SPDX-License-Identifier: Apache-2.0
/* region add, remove, set: for the administrator. */
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "donard/candidate.h"
#include "errors.h"
#include "options.h"
#include "output.h"
#include "place.h"
#include "progress.h"
#include "regionkeys.h"
#include "udev.h"

#define REGION_NAME_BYTES	32

/* In text output the name is alone on stdout, for scripts, and a note goes to stderr. */
static int print_name(const struct cli *cli, const char *name, const char *note)
{
	struct json_object *model;

	if (!cli->json) {
		puts(name);
		if (note && note[0])
			fprintf(stderr, "%s: %s\n", name, note);
		return EXIT_DONE;
	}
	model = json_object_new_object();
	cli_add_text(model, "name", name);
	if (note)
		cli_add_text(model, "note", note);
	cli_print_json(model);
	return EXIT_DONE;
}

/* The name of a region that was given as "/dev/p2pmem0", or by a link, which goes with the region. */
static int take_name(const struct cli *cli, char name[REGION_NAME_BYTES])
{
	const char *argument = cli->arguments[0], *slash = strrchr(argument, '/');
	struct donard_region_list *list;
	int rc;

	snprintf(name, REGION_NAME_BYTES, "%s", slash ? slash + 1 : argument);
	if (strncmp(argument, CLI_REGION_LINKS, strlen(CLI_REGION_LINKS)))
		return 0;
	rc = donard_region_find(cli->ctx, argument, &list);
	if (rc)
		return rc;
	snprintf(name, REGION_NAME_BYTES, "%s", donard_region_get(list, 0)->name);
	donard_region_list_free(list);
	return 0;
}

/* Refuses an option whose word means no number: then @number is 0. */
static int known_word(const struct cli *cli, const char *option, unsigned int number,
		      const char *choices)
{
	const char *word = cli_value(cli, option);

	if (!word || number)
		return 0;
	return cli_usage(cli, "--%s %s: choose one of %s", option, word, choices);
}

static int take_types(const struct cli *cli, struct donard_region_add *what)
{
	int rc;

	what->kind = donard_region_kind_of(cli_value(cli, "kind"));
	what->page_type = donard_page_type_of(cli_value(cli, "page-type"));
	what->memtype = donard_memtype_of(cli_value(cli, "memtype"));
	rc = known_word(cli, "kind", what->kind, "pci-bar, nvme-cmb, nvme-pmr, gpu-nvidia");
	if (!rc)
		rc = known_word(cli, "page-type", what->page_type, "generic, p2pdma, pmem");
	return rc ? rc : known_word(cli, "memtype", what->memtype, "uc, wc, wb");
}

/* "2 (512 MiB), 4 (64 MiB)": the BARs of a function that could be regions; "" if there are none. */
static void name_bars(struct donard_context *ctx, const char *bdf, char *text, size_t text_bytes)
{
	struct donard_candidate_list *list = NULL;
	const struct donard_candidate_info *info;
	char size[DONARD_SIZE_TEXT_BYTES];

	text[0] = '\0';
	donard_candidate_list(ctx, &list);
	for (size_t i = 0; (info = donard_candidate_get(list, i)); i++)
		if (info->kind == DONARD_KIND_PCI_BAR && !strcmp(info->bdf, bdf))
			snprintf(text + strlen(text), text_bytes - strlen(text), "%s%u (%s)", text[0] ? ", " : "",
				 info->bar, donard_format_size(size, sizeof(size), info->size_bytes));
	donard_candidate_list_free(list);
}

static int bar_missing(const struct cli *cli)
{
	char bars[256], bdf[DONARD_BDF_BYTES];
	int rc = cli_device(cli, bdf);

	if (rc)
		return rc;
	name_bars(cli->ctx, bdf, bars, sizeof(bars));
	if (bars[0])
		return cli_usage(cli, "--bar is missing: the memory BARs of %s are %s", bdf, bars);
	return cli_usage(cli, "--bar is missing, and %s has no memory BAR of 2 MiB or more that could be meant; "
			 "'donard-cli region candidates' lists what could be a region", bdf);
}

static int run_add(struct cli *cli)
{
	char note[DONARD_REASON_BYTES];
	struct donard_region_add what = {
		.size = sizeof(what),
		.note = note,
		.bdf = cli_value(cli, "device"),
	};
	uint64_t bar = 0;
	char name[REGION_NAME_BYTES];
	int rc = take_types(cli, &what);

	if (rc)
		return rc;
	if (!what.kind || !what.bdf)
		return cli_usage(cli, "%s missing", what.kind ? "--device is" : what.bdf ? "--kind is" :
				 "--kind and --device are");
	if (what.kind == DONARD_KIND_PCI_BAR && !cli_given(cli, "bar"))
		return bar_missing(cli);
	if (!regionkeys_take_bar(what.kind) && cli_given(cli, "bar"))
		return cli_usage(cli, "--bar is only for pci-bar and gpu-nvidia: an NVMe controller names the BAR itself");
	rc = cli_number(cli, "bar", &bar);
	if (!rc && what.kind == DONARD_KIND_GPU_NVIDIA && cli_given(cli, "bar") && !bar)
		return cli_usage(cli, "--bar 0 is where a GPU has its registers: leave --bar out, which takes the largest "
				 "prefetchable BAR, or name another");
	if (!rc)
		rc = cli_size(cli, "offset", true, &what.offset_bytes);
	if (!rc)
		rc = cli_size(cli, "length", false, &what.length_bytes);
	if (!rc)
		rc = cli_size(cli, "folio", false, &what.folio_bytes);
	if (!rc && what.folio_bytes && !regionkeys_folio(what.folio_bytes))
		rc = cli_usage(cli, "--folio %s: choose one of 4K, 2M, 1G", cli_value(cli, "folio"));
	if (rc)
		return rc;
	what.bar = (unsigned int)bar;
	rc = donard_region_add(cli->ctx, &what);
	if (rc < 0)
		return cli_fail(cli, rc);
	cli_await_udev();
	snprintf(name, sizeof(name), "p2pmem%d", rc);
	return print_name(cli, name, note);
}

static void say(void *user, const char *text)
{
	(void)user;
	fprintf(stderr, "%s\n", text);
}

static int run_remove(struct cli *cli)
{
	unsigned int flags = cli_given(cli, "if-idle") ? DONARD_REMOVE_IF_IDLE : 0;
	char name[REGION_NAME_BYTES];
	int rc = cli->json ? take_name(cli, name) : 0;

	cli_catch_signals();
	if (!rc)
		rc = donard_region_remove(cli->ctx, cli->arguments[0], flags, say, NULL);
	if (rc)
		return cli_fail(cli, rc);
	return cli->json ? print_name(cli, name, NULL) : EXIT_DONE;
}

static int run_set(struct cli *cli)
{
	enum donard_page_type page_type = donard_page_type_of(cli_value(cli, "page-type"));
	int rc = known_word(cli, "page-type", page_type, "generic, p2pdma");
	char name[REGION_NAME_BYTES];

	if (rc)
		return rc;
	if (!page_type)
		return cli_usage(cli, "--page-type is missing");
	rc = cli->json ? take_name(cli, name) : 0;
	if (!rc)
		rc = donard_region_set_page_type(cli->ctx, cli->arguments[0], page_type);
	if (rc)
		return cli_fail(cli, rc);
	return cli->json ? print_name(cli, name, NULL) : EXIT_DONE;
}

static const struct cli_option add_options[] = {
	{ "kind", "KIND", "pci-bar, nvme-cmb, nvme-pmr or gpu-nvidia" },
	{ "device", "BDF", "PCI address, like 0000:03:00.0" },
	{ "bar", "N", "which BAR; pci-bar needs it, gpu-nvidia takes the largest without, no other kind takes it" },
	{ "offset", "SIZE", "start within the BAR, CMB or PMR; a multiple of 2 MiB" },
	{ "length", "SIZE", "default: to the end of the BAR, CMB or PMR" },
	{ "page-type", "TYPE", "generic, p2pdma or pmem; the default is generic if every drive and NIC has a route, "
	  "but p2pdma if the driver made such pages" },
	{ "memtype", "TYPE", "uc, wc or wb; the default is wc, but uc for pages of type p2pdma and a BAR that is not "
	  "prefetchable" },
	{ "folio", "SIZE", "memory is taken in pieces of 4K, 2M or 1G; default 4K" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

static const struct cli_option remove_options[] = {
	{ "if-idle", NULL, "fail instead of revoking mappings that are in use" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

static const struct cli_option set_options[] = {
	{ "page-type", "TYPE", "generic or p2pdma; only while the region is idle" },
	{ "json", NULL, "print JSON" },
	{ 0 },
};

static const struct cli_limit limits[] = {
	{ "bar", 0, 5 },
	{ 0 },
};

const struct cli_command cmd_region_add = {
	.name = "region add", .arguments = "", .needs_context = true,
	.summary = "Offer device memory as a region; prints its name",
	.options = add_options, .limits = limits, .run = run_add,
};

const struct cli_command cmd_region_remove = {
	.name = "region remove", .arguments = "REGION", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .summary = "Take a region away, and wait until nothing uses it",
	.options = remove_options, .run = run_remove,
};

const struct cli_command cmd_region_set = {
	.name = "region set", .arguments = "REGION", .min_arguments = 1, .max_arguments = 1,
	.needs_context = true, .summary = "Change the page type of a region",
	.options = set_options, .run = run_set,
};
