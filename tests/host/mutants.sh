# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The rules of tests/model/log.pml, broken in a copy of the code: a unit test must fail. Sourced by tests/check, never run.

# Each: the rule as log.pml names it, the file of lib/cache, the unit test that must fail, and what sed does to the file.
# Those in lower case break rules that the model does not have.
readonly MUTANTS=(
	'ACK_EARLY log.c test_cache_log s/write_records(log) || log->store->barrier(log->store)/write_records(log)/'
	'ACK_EARLY commit.c test_cache_order /rc = dnd_cache_commit(&server->log);/i\	acknowledge(\&group);'
	'PLAN_EARLY plan.c test_cache_log s/int rc = dnd_cache_commit(log);/int rc = 0;/'
	'PLAN_OLDER plan.c test_cache_log s/if (extent.sequence != record->sequence)/if (false)/'
	'TRIM_LATE destage.c test_cache_order s/if (!trimmed(server))$/if (destage->next == destage->plan.write_count \&\& !trimmed(server))/'
	'TAIL_EARLY destage.c test_cache_order s/flush(server);.*/server->destage.state = DND_DESTAGE_RETIRING;/'
	'TAIL_EARLY destage.c test_cache_order s/if (destage->under_way)$/if (false)/'
	'TAIL_EARLY destage.c test_cache_order s/!destage->failed && !destage->under_way &&/!destage->failed \&\&/'
	'TAIL_FAR destage.c test_cache_order s/retire(&server->log, destage->plan.upto)/retire(\&server->log, server->log.durable)/'
	'REUSE_EARLY log.c test_cache_log s/return rc ? rc : store->barrier(store);/return rc;/'
	'REUSE_NEWER log.c test_cache_log s/blocks_drop(&log->blocks, first, count, record->sequence);$/blocks_drop(\&log->blocks, first, count, UINT64_MAX);/'
	'ONE_TAIL log.c test_cache_log /log->tail_copy = (log->tail_copy + 1)/d'
	'NO_EPOCH log.c test_cache_log s/\.epoch = log->epoch + 1/.epoch = log->epoch/'
	'NO_BEGUN recover.c test_cache_recover s/return record->sequence >= log->begun ?.*/return record->epoch <= log->epoch;/'
	'NO_CHECKSUM recover.c test_cache_log s/if (sum != record->data_checksum)/if (false)/'
	'NO_FIRST_BARRIER log.c test_cache_log s/int rc = keep_what_was_read(log);/int rc = 0;/'
	'void-not-marked log.c test_cache_recover s/rc = mark_voids(log);/rc = 0;/'
	'trim-forgets-nothing log.c test_cache_place s/if (record->type == DND_CACHE_TRIM)$/if (false)/'
	'reuse-under-a-read destage.c test_cache_turns s/if (server->active_reads)/if (false)/'
	'answered-after-a-reset read.c test_cache_turns s/if (!dnd_cache_nvram_sound(server))/if (false)/'
	'destaged-after-a-reset destage.c test_cache_order s/if (!can_go_on(destage) || !dnd_cache_nvram_sound(server))/if (!can_go_on(destage))/'
	'trimmed-after-a-reset destage.c test_cache_order s/if (!destage->untrimmed || !dnd_cache_nvram_sound(server))/if (!destage->untrimmed)/'
	'flushed-without-older-bytes destage.c test_cache_order s/run_bytes, flush_waits(server), /run_bytes, false, /'
	'not-delivered-and-forgotten destage.c test_cache_order s/if (!has_what_it_was_given(server) || !dnd_cache_nvram_sound(server))/if (!dnd_cache_nvram_sound(server))/'
	'not-flushed-and-forgotten destage.c test_cache_order s/ || !is_flushed(server))$/)/'
	'newest-tail-missing recover.c test_cache_recover s/if (record.epoch > log->epoch)/if (false)/'
	'later-before-former commit.c test_cache_turns s/session->passed_by = may_replace_another(server, session);/session->passed_by = false;/'
	'trims-fill-the-log commit.c test_cache_turns s/if (!trim_has_place(&server->log))/if (false)/'
	'refused-before-emptied destage.c test_cache_turns s/ || dnd_cache_free_window(server) == SIZE_MAX)/)/'
	'bytes-over-others recover.c test_cache_recover s/dnd_cache_lies_over(log, record))/false)/'
)
readonly MUTANT_TESTS=(test_cache_log test_cache_recover test_cache_place test_cache_order test_cache_turns)

# Each mutant changes exactly one place: else it breaks nothing, or more than its rule.
each_changes_one_place() {
	local mutant rule file unit script places status=0
	for mutant in "${MUTANTS[@]}"; do
		read -r rule file unit script <<<"$mutant"
		places=$(sed "$script" "lib/cache/$file" | diff "lib/cache/$file" - | grep -c '^[0-9]')
		[[ $places == 1 ]] || { echo "$rule: sed changes $places places in lib/cache/$file: $script"; status=1; }
	done
	return "$status"
}

# make_in_copy TEST - builds it in the copy, where what a mutation leaves unused is no error.
make_in_copy() {
	make -s -C "$LOGS/mutants" WERROR= CPPFLAGS=-w BUILD=build "build/tests/unit/$1"
}

# Keeps the files' times, by which make decides, so that nothing is built again.
copy_passes() {
	local copy=$LOGS/mutants unit
	rm -rf "$copy"
	mkdir -p "$copy/build"
	cp -a --parents Makefile mk include lib tests/unit "$copy" || return
	[[ ! -d $BUILD/lib ]] || cp -a "$BUILD/lib" "$copy/build" || return
	for unit in "${MUTANT_TESTS[@]}"; do
		make_in_copy "$unit" && "$copy/build/tests/unit/$unit" || return
	done
}

# mutant_fails FILE TEST SCRIPT
mutant_fails() {
	local copy=$LOGS/mutants file=lib/cache/$1 unit=$2 status=0 said=$LOGS/mutant-said
	sed -i "$3" "$copy/$file"
	if cmp -s "$file" "$copy/$file"; then
		echo "sed changes nothing in $file: $3"
		return 1
	fi
	diff -u "$file" "$copy/$file"
	if make_in_copy "$unit"; then
		CMOCKA_MESSAGE_OUTPUT=TAP timeout 300 "$copy/build/tests/unit/$unit" >"$said" 2>&1 || status=$?
		cat "$said"
	fi
	cp "$file" "$copy/$file"
	echo "expected: a test says 'not ok'; seen: status $status (124: it did not end; 0 also if it was not built)"
	((status != 0 && status != 124)) && grep -qE '^not ok [0-9]+ - ' "$said"
}

each_rule_has_a_mutant() {
	local fault
	for fault in "${MODEL_FAULTS[@]}"; do
		if [[ " ${MUTANTS[*]%% *} " != *" $fault "* ]]; then
			echo "$fault of tests/model/log.pml is not broken in the code by tests/host/mutants.sh"
			return 1
		fi
	done
}

run_mutants() {
	local mutant rule file unit script
	try_first "mutants: the copy passes as it is" copy_passes
	for mutant in "${MUTANTS[@]}"; do
		read -r rule file unit script <<<"$mutant"
		try "mutants: with $rule in $file $unit fails" mutant_fails "$file" "$unit" "$script"
	done
}
