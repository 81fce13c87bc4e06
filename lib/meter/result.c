// SPDX-License-Identifier: Apache-2.0
/* The names of the quantities, and the sentences about those that are missing. */
#include <stdio.h>
#include <string.h>

#include "meter/kind.h"

static const char *const quantity_names[DONARD_QUANTITIES] = {
	[DONARD_DRAM_DMA_PAYLOAD] = "dram_dma_payload_bytes",
	[DONARD_DRAM_DMA_OVERHEAD] = "dram_dma_overhead_bytes",
	[DONARD_DRAM_CPU_PAYLOAD] = "dram_cpu_payload_bytes",
	[DONARD_DRAM_CPU_OVERHEAD] = "dram_cpu_overhead_bytes",
	[DONARD_DRAM_CPU_USER] = "dram_cpu_user_bytes",
	[DONARD_DRAM_CPU_KERNEL] = "dram_cpu_kernel_bytes",
	[DONARD_BAR_DMA] = "bar_dma_bytes",
	[DONARD_BAR_CPU] = "bar_cpu_bytes",
	[DONARD_INSTRUCTIONS_USER] = "instructions_user",
	[DONARD_INSTRUCTIONS_KERNEL] = "instructions_kernel",
	[DONARD_DRAM_READ] = "dram_read_bytes",
	[DONARD_DRAM_WRITTEN] = "dram_written_bytes",
	[DONARD_DRAM_TOTAL] = "dram_total_bytes",
	[DONARD_DRAM_CACHE] = "dram_cache_bytes",
	[DONARD_INTERRUPTS] = "interrupts",
	[DONARD_CONTEXT_SWITCHES] = "context_switches",
};

DND_METER_PUBLIC const char *donard_quantity_name(enum donard_quantity quantity)
{
	return (unsigned int)quantity < DONARD_QUANTITIES ? quantity_names[quantity] : NULL;
}

void dnd_missing(struct donard_measurement *result, const char *format, ...)
{
	size_t used = strlen(result->missing);
	va_list args;

	if (used && used + 1 < sizeof(result->missing))
		result->missing[used++] = ' ';
	va_start(args, format);
	vsnprintf(result->missing + used, sizeof(result->missing) - used, format, args);
	va_end(args);
}
