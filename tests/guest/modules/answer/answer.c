// SPDX-License-Identifier: GPL-2.0
/*
 * While it is loaded, a kernel function that returns an int answers what a test
 * says: so a device can be in a state that the emulator's are never in.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static char *symbol;
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "the function");

static int value;
module_param(value, int, 0444);
MODULE_PARM_DESC(value, "what it returns");

static ulong calls;
module_param(calls, ulong, 0444);
MODULE_PARM_DESC(calls, "how often it was asked until now");

static atomic_long_t asked;

static int on_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	regs_set_return_value(regs, value);
	WRITE_ONCE(calls, atomic_long_inc_return(&asked));
	return 0;
}

static struct kretprobe probe = { .handler = on_return };

static int __init answer_init(void)
{
	if (!symbol)
		return -EINVAL;
	probe.kp.symbol_name = symbol;
	return register_kretprobe(&probe);
}

static void __exit answer_exit(void)
{
	unregister_kretprobe(&probe);
}

module_init(answer_init);
module_exit(answer_exit);

MODULE_DESCRIPTION("Has a kernel function answer what a test says");
MODULE_LICENSE("GPL");
