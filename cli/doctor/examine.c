// SPDX-License-Identifier: Apache-2.0
/* Makes one report from the machine's files: facts, findings, pairs, verdict. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checks.h"
#include "errors.h"
#include "exit.h"
#include "prove.h"
#include "report.h"

static int open_context(struct examination *x)
{
	char sysfs[PATH_MAX], dev[PATH_MAX];
	struct donard_config config = { .size = sizeof(config) };

	source_path(&x->source, sysfs, "/sys");
	source_path(&x->source, dev, "/dev");
	config.sysfs_root = sysfs;
	config.dev_root = dev;
	return donard_open(&x->ctx, &config);
}

/* Reads the lists of devices.  There is no list of regions without the module. */
static int read_devices(struct examination *x)
{
	int rc = donard_client_list(x->ctx, &x->clients);

	if (rc >= 0)
		rc = donard_candidate_list(x->ctx, &x->candidates);
	if (rc >= 0)
		rc = donard_gpu_list(x->ctx, &x->gpus);
	if (rc >= 0) {
		rc = donard_region_list(x->ctx, &x->regions);
		rc = rc == -EOPNOTSUPP ? 0 : rc;
	}
	return rc < 0 ? rc : pci_read(&x->source, &x->pci);
}

static void forget(struct examination *x)
{
	donard_region_list_free(x->regions);
	donard_client_list_free(x->clients);
	donard_candidate_list_free(x->candidates);
	donard_gpu_list_free(x->gpus);
	pci_forget(&x->pci);
	kernel_forget(&x->kernel);
	findings_forget(x);
	donard_close(x->ctx);
}

/* Counts of pairs.  A drive with its own memory (@own), and a GPU, whose DMA donard does not start (@of_gpu), count apart. */
struct tally {
	unsigned int pairs, own, of_gpu, with_region, without_region, undecided, unlisted, allowed, proven, untried, refused;
};

/* With --probe: a route is predicted, but bytes were not seen to arrive in both directions. */
static bool is_untried(const struct pair *pair)
{
	return pair->memory->region && pair->verdict == DONARD_VERDICT_YES && !pair->proven;
}

/* With --probe: there is a route, but the library or the device refuses the region's memory. */
static bool is_refused(const struct pair *pair)
{
	return pair->by_module && pair->route.route != DONARD_ROUTE_NONE && pair->verdict == DONARD_VERDICT_NO &&
	       (pair->proofs[DIRECTION_READ].state == PROOF_REFUSED || pair->proofs[DIRECTION_WRITE].state == PROOF_REFUSED);
}

static struct tally count(const struct pairs *pairs)
{
	struct tally tally = { 0 };

	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->pairs[i];

		if (pair->client->type == DONARD_CLIENT_GPU) {
			tally.of_gpu++;
			continue;
		}
		if (pair->function == pair->memory->function) {
			tally.own++;
			continue;
		}
		tally.pairs++;
		tally.proven += pair->proven;
		tally.untried += is_untried(pair);
		tally.refused += is_refused(pair);
		tally.allowed += pair->verdict == DONARD_VERDICT_YES && pair->route.unlisted_bridge;
		tally.undecided += pair->undecided;
		tally.unlisted += pair->verdict == DONARD_VERDICT_UNLISTED && !pair->undecided;
		if (pair->verdict == DONARD_VERDICT_YES && pair->memory->region)
			tally.with_region++;
		else if (pair->verdict == DONARD_VERDICT_YES)
			tally.without_region++;
	}
	return tally;
}

/* Names the pairs that the table has, but that the numbers before do not count. */
static void name_others(const struct tally *tally, char *text, size_t text_bytes)
{
	const char *separator = "; not counted: ";
	size_t used = strlen(text);

	if (tally->own) {
		used += (size_t)snprintf(text + used, text_bytes - used, "%s%u of a drive and its own memory", separator,
					 tally->own);
		separator = ", ";
	}
	if (tally->of_gpu)
		snprintf(text + used, text_bytes - used, "%s%u of a GPU", separator, tally->of_gpu);
}

static void name_undecided(const struct tally *tally, char *text, size_t text_bytes)
{
	size_t used = strlen(text);

	if (tally->undecided && tally->with_region + tally->without_region)
		snprintf(text + used, text_bytes - used, "; %u are undecided: the kernel was not asked", tally->undecided);
}

/* Says how many regions this process can open.  The verdict does not depend on it: that is about the machine. */
static void name_closed(const struct examination *x, char *text, size_t text_bytes)
{
	size_t used = strlen(text);

	if (x->regions_closed)
		snprintf(text + used, text_bytes - used, "; %u of %u regions can be opened here",
			 x->regions_ready - x->regions_closed, x->regions_ready);
}

static void name_evidence(const struct tally *tally, unsigned int good, char text[64])
{
	if (!tally->proven)
		strcpy(text, "predicted");
	else if (tally->proven == good)
		strcpy(text, "proven");
	else
		snprintf(text, 64, "%u proven, %u predicted", tally->proven, good - tally->proven);
}

static void check_untried(struct examination *x, const struct tally *tally)
{
	if (tally->untried)
		find(x, CODE_NOT_PROBED, "", "of %u pairs of two devices, %u were not proven both ways, although a route is predicted: "
		     "the reasons are with the pairs", tally->pairs, tally->untried);
}

/*
 * How many faults the verdict has to name.  None, if bytes were seen to arrive.  If a pair reaches a region, faults that only
 * hinder adding regions do not count.
 */
static unsigned int faults_in_the_way(const struct examination *x, const struct tally *tally)
{
	if (tally->proven)
		return 0;
	return x->faults - (tally->with_region ? x->faults_of_adding : 0);
}

/*
 * If regions cannot be added, only pairs with an existing region count.  Without any, those with a candidate count: they are
 * what the fault is in the way of.
 */
static unsigned int pairs_that_reach(const struct examination *x, const struct tally *tally)
{
	if (tally->with_region && x->faults_of_adding)
		return tally->with_region;
	return tally->with_region + tally->without_region;
}

/* Begins the summary with the faults.  Returns the length. */
static size_t name_faults(unsigned int faults, char text[SUMMARY_BYTES])
{
	if (!faults)
		return 0;
	return (size_t)snprintf(text, SUMMARY_BYTES, "%u %s in the way; without, ", faults, faults == 1 ? "fault is" : "faults are");
}

/* Returns the verdict, and what it means here in @text. */
static enum judgement judge(const struct examination *x, const struct tally *tally, char text[SUMMARY_BYTES])
{
	unsigned int good = pairs_that_reach(x, tally), faults = faults_in_the_way(x, tally);
	char evidence[64];
	size_t used;

	name_evidence(tally, good, evidence);
	if (faults && good) {
		used = name_faults(faults, text);
		snprintf(text + used, SUMMARY_BYTES - used, "a device would reach another's memory in %u of %u pairs (%s)", good,
			 tally->pairs, evidence);
		return JUDGED_BLOCKED;
	}
	if (x->request->probe && tally->untried && !tally->proven) {
		snprintf(text, SUMMARY_BYTES, "a device is predicted to reach another's memory in %u of %u pairs, and none of them could "
			 "be probed: the reasons are with the pairs", good, tally->pairs);
		return JUDGED_UNKNOWN;
	}
	if (good) {
		snprintf(text, SUMMARY_BYTES, "a device reaches another's memory in %u of %u pairs%s (%s)%s", good,
			 tally->pairs, tally->with_region ? "" : ", once it is a region", evidence,
			 tally->allowed ? "; where the host bridge is unlisted, with --allow-unlisted-bridge" : "");
		return tally->with_region ? JUDGED_READY : JUDGED_POSSIBLE;
	}
	if (tally->undecided) {
		used = name_faults(faults, text);
		snprintf(text + used, SUMMARY_BYTES - used, "whether a device reaches another's memory is for the running kernel to "
			 "say, as the ways cross a host bridge, and the kernel was not asked");
		return faults ? JUDGED_BLOCKED : JUDGED_UNKNOWN;
	}
	if (tally->unlisted) {
		snprintf(text, SUMMARY_BYTES, "every way between two devices crosses a host bridge that may forward requests, or "
			 "lose them");
		return JUDGED_UNLISTED;
	}
	snprintf(text, SUMMARY_BYTES, tally->refused ? "no device can use another's memory as it is: the reasons "
		 "are with the pairs" :
		 tally->pairs ? "no device has a route to another's memory" :
		 tally->own ? "a drive has memory, and there is no other device that could use it" :
		 "there is no pair of a device and of memory that it could reach");
	return JUDGED_IMPOSSIBLE;
}

static int exit_code(enum judgement verdict, const struct proof_tally *proof)
{
	if (proof->undelivered)
		return EXIT_MISMATCH;
	if (proof->failed)
		return EXIT_FAILED;
	return verdict == JUDGED_READY || verdict == JUDGED_POSSIBLE ? EXIT_DONE : EXIT_UNSUPPORTED;
}

/* Returns the exit code, or -errno. */
static int examine(struct examination *x, struct report *report)
{
	struct proof_tally proof = { 0 };
	struct tally tally;
	int rc = pairs_make(x, &report->pairs);

	if (rc)
		return rc;
	check_kernel(x);
	check_requests(x);
	check_module(x);
	check_rights(x);
	check_memory(x);
	check_direct_map(x);
	check_clients(x);
	check_raids(x);
	check_gpus(x, report->gpus);
	if (x->request->probe && x->source.live)
		prove_pairs(x, &report->pairs, &proof);
	/* After the probe: pairs that were proven have no obstacle. */
	check_paths(x, &report->pairs);
	tally = count(&report->pairs);
	if (x->request->probe)
		check_untried(x, &tally);
	report->verdict = judge(x, &tally, report->summary);
	name_undecided(&tally, report->summary, SUMMARY_BYTES);
	name_others(&tally, report->summary, SUMMARY_BYTES);
	name_closed(x, report->summary, SUMMARY_BYTES);
	return exit_code(report->verdict, &proof);
}

/* Prints why the machine could not be examined: the library's text, if the library failed. */
static int fail(const struct cli *cli, const struct examination *x, int rc)
{
	struct cli own = *cli;

	own.ctx = x->ctx;
	if (!x->ctx || rc == -ENOMEM || !strcmp(donard_error_code(x->ctx), "ok"))
		return cli_fail_text(cli, EXIT_FAILED, "system", strerror(-rc));
	return cli_fail(&own, rc);
}

int doctor_examine(const struct cli *cli, const struct doctor_request *request)
{
	struct examination x = { .request = request };
	struct report report = { .x = &x, .gpus = json_object_new_array() };
	int rc;

	snprintf(x.source.root, sizeof(x.source.root), "%s", request->root ? request->root : "");
	x.source.live = !request->root;
	rc = open_context(&x);
	if (!rc) {
		kernel_read(&x.source, &x.kernel);
		rc = read_devices(&x);
	}
	if (!rc && request->scratch)
		rc = prove_check_scratch(&x);
	if (!rc)
		rc = examine(&x, &report);
	if (rc < 0)
		rc = fail(cli, &x, rc);
	else if (cli->json)
		doctor_print_json(&report);
	else
		doctor_print_text(&report);
	pairs_forget(&report.pairs);
	json_object_put(report.gpus);
	forget(&x);
	return rc;
}
