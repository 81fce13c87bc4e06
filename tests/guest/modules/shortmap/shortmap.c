// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel whose direct map ends where a test says, as KASLR made it on older ones:
 * mhp_get_pluggable_range() tells everybody in another module so.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static ulong end;
module_param(end, ulong, 0444);
MODULE_PARM_DESC(end, "the last address");

/* Changes the second member of struct range, whose two members are returned in registers. */
static int on_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	regs->dx = end;
	return 0;
}
NOKPROBE_SYMBOL(on_return);

static struct kretprobe probe = {
	.kp.symbol_name = "mhp_get_pluggable_range",
	.handler = on_return,
};

static int __init shortmap_init(void)
{
	return end ? register_kretprobe(&probe) : -EINVAL;
}

static void __exit shortmap_exit(void)
{
	unregister_kretprobe(&probe);
}

module_init(shortmap_init);
module_exit(shortmap_exit);

MODULE_DESCRIPTION("Lets the kernel's direct map end early, for tests");
MODULE_LICENSE("GPL");
