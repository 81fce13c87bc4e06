// SPDX-License-Identifier: Apache-2.0
/* What a cache's server said, as JSON and as text. */
#include <stddef.h>
#include <stdio.h>

#include "cachemodel.h"
#include "output.h"
#include "rdma.h"

static void add_latency(struct json_object *model, const struct donard_cache_latency *latency)
{
	struct json_object *part = json_object_new_object();

	cli_add_number(part, "count", latency->count);
	cli_add_percentiles(part, latency->p50_ns, latency->p90_ns, latency->p99_ns, latency->p999_ns,
			    latency->max_ns);
	json_object_object_add(model, "write_latency_ns", part);
}

/* Words of the JSON, and where each number is. */
#define COUNT(word) { #word, offsetof(struct donard_cache_status, word) }
static const struct {
	const char *word;
	size_t at;
} counts[] = {
	COUNT(epoch), COUNT(clients), COUNT(clients_ever), COUNT(recovered), COUNT(records), COUNT(records_most),
	COUNT(window_bytes), COUNT(window_bytes_most), COUNT(fill_percent), COUNT(oldest_ms), COUNT(writes),
	COUNT(reads), COUNT(trims), COUNT(flushes), COUNT(written_bytes), COUNT(read_bytes), COUNT(groups),
	COUNT(barriers), COUNT(destaged_bytes), COUNT(coalesced_bytes), COUNT(drive_writes),
	COUNT(drive_flushes), COUNT(drive_reads), COUNT(ignored_trims), COUNT(drive_errors), COUNT(mismatches),
};

struct json_object *cli_cache_model(const struct donard_cache_status *status)
{
	struct json_object *model = json_object_new_object();
	char identity[32];

	snprintf(identity, sizeof(identity), "%016llx", (unsigned long long)status->identity);
	cli_add_text(model, "nvram", status->nvram);
	cli_add_text(model, "drive", status->drive);
	cli_add_text(model, "identity", identity);
	json_object_object_add(model, "persistent", json_object_new_boolean(status->persistent));
	json_object_object_add(model, "draining", json_object_new_boolean(status->draining));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		cli_add_number(model, counts[i].word,
			       *(const uint64_t *)((const char *)status + counts[i].at));
	add_latency(model, &status->write_latency);
	json_object_object_add(model, "aio", json_object_new_boolean(status->aio != 0));
	cli_add_text(model, "drive_error", status->drive_error);
	return model;
}

void cli_cache_print(FILE *out, struct json_object *model)
{
	struct json_object *latency = json_object_object_get(model, "write_latency_ns");
	char used[DONARD_SIZE_TEXT_BYTES], most[DONARD_SIZE_TEXT_BYTES];

	fprintf(out, "log %s in %s%s, in front of %s%s\n", cli_text_of(model, "identity"), cli_text_of(model, "nvram"),
	       cli_true(model, "persistent") ? "" : " (volatile)", cli_text_of(model, "drive"),
	       cli_true(model, "draining") ? "; ending" : "");
	fprintf(out, "fill        %llu %%: %llu of %llu records, %s of %s; the oldest came %llu ms ago\n",
	       (unsigned long long)cli_number_of(model, "fill_percent"),
	       (unsigned long long)cli_number_of(model, "records"),
	       (unsigned long long)cli_number_of(model, "records_most"), cli_size_of(model, "window_bytes", used),
	       cli_size_of(model, "window_bytes_most", most), (unsigned long long)cli_number_of(model, "oldest_ms"));
	fprintf(out, "clients     %llu, %llu ever\n", (unsigned long long)cli_number_of(model, "clients"),
	       (unsigned long long)cli_number_of(model, "clients_ever"));
	fprintf(out, "writes      %llu (%s), %llu barriers; p50 %llu us, p99 %llu us\n",
	       (unsigned long long)cli_number_of(model, "writes"), cli_size_of(model, "written_bytes", used),
	       (unsigned long long)cli_number_of(model, "barriers"),
	       (unsigned long long)cli_number_of(latency, "p50") / 1000,
	       (unsigned long long)cli_number_of(latency, "p99") / 1000);
	fprintf(out, "others      %llu reads (%s), %llu trims, %llu flushes\n",
	       (unsigned long long)cli_number_of(model, "reads"), cli_size_of(model, "read_bytes", used),
	       (unsigned long long)cli_number_of(model, "trims"), (unsigned long long)cli_number_of(model, "flushes"));
	fprintf(out, "drive       %s in %llu writes and %llu flushes; %s never written, since newer came\n",
	       cli_size_of(model, "destaged_bytes", used), (unsigned long long)cli_number_of(model, "drive_writes"),
	       (unsigned long long)cli_number_of(model, "drive_flushes"), cli_size_of(model, "coalesced_bytes", most));
	if (cli_true(model, "aio"))
		fputs("requests    to the drive by Linux AIO, because the kernel refuses io_uring to the server\n", out);
	fprintf(out, "errors      %llu of the drive, %llu of checksums\n",
	       (unsigned long long)cli_number_of(model, "drive_errors"),
	       (unsigned long long)cli_number_of(model, "mismatches"));
	if (cli_text_of(model, "drive_error")[0])
		fprintf(out, "failing     the drive is tried again: %s\n", cli_text_of(model, "drive_error"));
}
