#include "meter.h"
static int op(struct donard_context *ctx, struct donard_meter *m){(void)m;return dnd_fail(ctx, DND_E_UNSUPPORTED,"stub.");}
static void cl(struct donard_meter *m){(void)m;}
const struct dnd_meter_kind dnd_meter_likwid={.name="likwid",.open=op,.close=cl},dnd_meter_perf={.name="perf",.open=op,.close=cl},dnd_meter_resctrl={.name="resctrl",.open=op,.close=cl};
void dnd_instructions_open(struct donard_meter *meter){(void)meter;}
void dnd_instructions_begin(struct donard_meter *meter){(void)meter;}
void dnd_instructions_end(struct donard_meter *meter, struct donard_measurement *result){(void)meter;(void)result;}
void dnd_instructions_close(struct donard_meter *meter){(void)meter;}
