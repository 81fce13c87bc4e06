# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# rdma-core's own tests of traffic, with their memory regions in device memory (pyverbs/region_tests.py).

readonly WRITES="test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write
	test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write_imm
	test_qpex.QpExTestCase.test_qp_ex_rc_rdma_write_zero_length"
readonly READS="test_qpex.QpExTestCase.test_qp_ex_rc_rdma_read
	test_qpex.QpExTestCase.test_qp_ex_rc_rdma_read_zero_size"
readonly SENDS="test_qpex.QpExTestCase.test_qp_ex_rc_send test_qpex.QpExTestCase.test_qp_ex_rc_send_imm"
# Includes requests that must be refused: no right, a wrong key, an odd address.
readonly ATOMICS="test_qpex.QpExTestCase.test_qp_ex_rc_atomic_cmp_swp
	test_qpex.QpExTestCase.test_qp_ex_rc_atomic_fetch_add
	test_atomic.AtomicTest.test_atomic_cmp_and_swap test_atomic.AtomicTest.test_atomic_fetch_and_add
	test_atomic.AtomicTest.test_atomic_invalid_mr_access test_atomic.AtomicTest.test_atomic_invalid_rkey
	test_atomic.AtomicTest.test_atomic_invalid_lkey test_atomic.AtomicTest.test_atomic_non_aligned_addr"
readonly FLUSHES="test_qpex.QpExTestCase.test_qp_ex_rc_flush
	test_qpex.QpExTestCase.test_qp_ex_rc_flush_type_violate test_qpex.QpExTestCase.test_qp_ex_rc_atomic_write"
readonly WINDOWS="test_qpex.QpExTestCase.test_qp_ex_rc_bind_mw test_mr.MWTest.test_mw_type1
	test_mr.MWTest.test_mw_type2 test_mr.MWTest.test_mw_type2_invalidate_remote"
# Tests by the connection manager, the only ones for iWARP.
readonly CONNECTIONS="test_rdmacm.CMTestCase.test_rdmacm_sync_traffic
	test_rdmacm.CMTestCase.test_rdmacm_async_write test_rdmacm.CMTestCase.test_rdmacm_async_read"

# all_pass REGION TEST... - and each of them has registered memory of the region.
all_pass() {
	local region=$1 status=0 regions
	shift
	python3 pyverbs/region_tests.py "$region" "$@" >"$WORK/out" 2>&1 || status=$?
	cat "$WORK/out"
	((status == 0)) || fail "of $*: see above"
	equal "tests that passed" $# "$(grep -c '\.\.\. ok$\|^ok$' "$WORK/out")"
	regions=$(sed -n "s/ memory regions in $region$//p" "$WORK/out")
	((regions >= 2 * $#)) || fail "two memory regions a test: expected $((2 * $#)), seen $regions"
	within 5 region_is_free "$region"
}

cmb_is_refused() {
	equal "page type of the CMB" p2pdma "$(attr p2pmem1 page_type)"
	# The kernel's own rule: such pages are never pinned for long.
	equal "registration of the CMB" EREMOTEIO "$(python3 pyverbs/region_tests.py p2pmem1)"
	within 5 region_is_free p2pmem1
}

refused_as_p2pdma() {
	with_page_type p2pmem0 p2pdma
	equal "registration of the BAR" EREMOTEIO "$(python3 pyverbs/region_tests.py p2pmem0)"
	within 5 region_is_free p2pmem0
}

# traffic REGION WHAT - every operation that the device has.
# shellcheck disable=SC2086  # words
traffic() {
	local region=$1 what=$2
	t "connections, $what" all_pass "$region" $CONNECTIONS
	[[ $LAB_FABRIC == rxe ]] || return 0
	# All in one run, since starting Python takes longer than the tests.
	t "writes, reads, sends, atomics, memory windows, $what" \
		all_pass "$region" $WRITES $READS $SENDS $ATOMICS $WINDOWS
	if ! can rdma-flush; then
		skip "flushes and atomic writes, $what" "rxe of kernel $LAB_KERNEL has neither"
	else
		t "flushes and atomic writes, $what" all_pass "$region" $FLUSHES
	fi
}

traffic p2pmem0 bar
traffic p2pmem2 pmr
if can p2pdma; then
	t "a cmb of the kernel's is refused" cmb_is_refused
	t "a bar of page type p2pdma is refused" refused_as_p2pdma
else
	traffic p2pmem1 cmb
fi
