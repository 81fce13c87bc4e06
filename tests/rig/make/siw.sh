# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# siw, the kernel's software iWARP. Debian leaves it out of its kernels; built here from the same source
# against the guest's headers. Sourced, never run.

# mend_siw DIR - a race of siw_accept() in 6.1 to 7.3: what the peer sends between the reply that accepts it and
# the moment when the QP gets the socket's data is noticed by nobody (siw_cm_llp_data_ready() drops the call)
# until more arrives. A client that sends once and waits for an answer, as rping, then waits forever. So look
# for data once the QP is the one to be told.
mend_siw() {
	sed -i '/^int siw_accept(/,/^}/ s|^\t\tsiw_qp_socket_assoc(cep, qp);$|&\
		lock_sock(cep->sock->sk);\
		siw_qp_llp_data_ready(cep->sock->sk);\
		release_sock(cep->sock->sk);|' "$1/siw_cm.c"
	(($(grep -c 'lock_sock(cep->sock->sk);' "$1/siw_cm.c") == 1)) ||
		die "$EX_LAB" "siw_accept() is not what it was: see mend_siw in $RIG_DIR/make/siw.sh"
}

# build_siw DIR ROOT KERNEL SOURCE
build_siw() {
	local dir=$1
	say "building siw for $3"
	mkdir -p "$dir"
	cp -r "$4" "$dir/copy"
	mend_siw "$dir/copy"
	kernel_make "$2" "$3" "$dir" M=/out/copy CONFIG_RDMA_SIW=m modules
	strip --strip-debug -o "$dir/siw.ko" "$dir/copy/siw.ko"
	rm -rf "$dir/copy"
}

# guest_siw ROOT KERNEL - the directory with siw.ko.
guest_siw() {
	local root=$1 kernel=$2 home source
	home=$(kernel_home "$root" "$kernel")
	source=$(kernel_source "$(kernel_version "$root" "$(series_of "$kernel")")")
	cached "siw-$kernel-$(content_key "$root" "$home" "$source" "$(declare -f build_siw mend_siw)")" \
		build_siw "$root" "$kernel" "$source/drivers/infiniband/sw/siw"
}
