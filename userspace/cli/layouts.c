// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The layout that a subcommand works with.
 */
#include <stdio.h>
#include <string.h>

#include "layouts.h"
#include "sysfs.h"

/* By enum layout_option; their ranges are those of the attributes. */
static const struct {
	const char *option;
	enum attribute attribute;
} fields[] = {
	[OPT_LAYOUT - OPT_LAYOUT] = { "layout", PRESET },
	[OPT_TIMESTAMP_BITS - OPT_LAYOUT] = {
		"timestamp-bits", TIMESTAMP_BITS
	},
	[OPT_WORKER_BITS - OPT_LAYOUT] = { "worker-bits", WORKER_BITS },
	[OPT_SEQUENCE_BITS - OPT_LAYOUT] = { "sequence-bits", SEQUENCE_BITS },
	[OPT_ORDER - OPT_LAYOUT] = { "order", ORDER },
	[OPT_TICK_MS - OPT_LAYOUT] = { "tick-ms", TICK_MS },
	[OPT_EPOCH_MS - OPT_LAYOUT] = { "epoch-ms", EPOCH_MS },
};

static const char *wrong_preset =
	"layouts are twitter, instagram, discord, sonyflake and js53";

/**
 * with_layout - the options of a subcommand that takes a layout
 * @own: its own options
 * @all: where they go, and those of the layout
 *
 * Return: @all.
 */
const struct option *with_layout(const struct option *own,
				 struct option all[OPTIONS_MAX])
{
	struct option *option = all;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		*option++ = (struct option) {
			fields[i].option, required_argument, NULL,
			OPT_LAYOUT + i
		};
	while (own->name)
		*option++ = *own++;
	*option = (struct option) { };
	return all;
}

/**
 * layout_option - take an option
 * @request: what was asked for so far
 * @option: an enum layout_option
 * @text: its argument
 *
 * Return: NULL, or what is wrong with @text.
 */
const char *layout_option(struct layout_request *request, int option,
			  const char *text)
{
	const struct attribute_info *info;
	struct snowflake_id_layout layout;
	int field = option - OPT_LAYOUT;
	const char *wrong;

	if (option == OPT_LAYOUT) {
		request->preset = text;
		return snowflake_preset(text, &layout) ? wrong_preset : NULL;
	}
	info = &attributes[fields[field].attribute];
	request->given[field] = true;
	if (info->choices) {
		request->fields[field] = !strcmp(text, info->choices[1]);
		if (request->fields[field] || !strcmp(text, info->choices[0]))
			return NULL;
		return "orders are worker-sequence and sequence-worker";
	}
	wrong = parse_number(text, &request->fields[field]);
	if (!wrong && (request->fields[field] < (uint64_t)info->min ||
		       request->fields[field] > (uint64_t)info->max))
		wrong = "it is out of range";
	return wrong;
}

/**
 * layout_wanted - whether a layout was asked for
 * @request: what was asked for
 *
 * Return: whether there was any option.
 */
bool layout_wanted(const struct layout_request *request)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(request->given); i++) {
		if (request->given[i])
			return true;
	}
	return request->preset;
}

/* The value that was asked for, if it was. */
static uint64_t pick(const struct layout_request *request,
		     enum layout_option option, uint64_t otherwise)
{
	unsigned int field = option - OPT_LAYOUT;

	return request->given[field] ? request->fields[field] : otherwise;
}

/* Change a layout into the one that was asked for. */
static enum status apply(const struct layout_request *request,
			 struct snowflake_id_layout *layout,
			 const char *command)
{
	struct snowflake_limits limits;

	layout->timestamp_bits = pick(request, OPT_TIMESTAMP_BITS,
				      layout->timestamp_bits);
	layout->worker_bits = pick(request, OPT_WORKER_BITS,
				   layout->worker_bits);
	layout->sequence_bits = pick(request, OPT_SEQUENCE_BITS,
				     layout->sequence_bits);
	layout->order = pick(request, OPT_ORDER, layout->order);
	layout->tick_ms = pick(request, OPT_TICK_MS, layout->tick_ms);
	layout->epoch_ms = pick(request, OPT_EPOCH_MS, layout->epoch_ms);
	if (!snowflake_get_limits(layout, &limits))
		return STATUS_OK;
	/* Each field is in range, so it can only be this. */
	complain("timestamp, worker and sequence bits are more than 64 together");
	return wrong_usage(command);
}

/**
 * layout_default - the layout that was asked for
 * @request: what was asked for
 * @layout: where it goes; "twitter" is what it begins with
 * @command: the subcommand, ending in a blank
 *
 * Return: STATUS_OK, or the status to exit with after the complaint.
 */
enum status layout_default(const struct layout_request *request,
			   struct snowflake_id_layout *layout,
			   const char *command)
{
	snowflake_preset(request->preset ?: snowflake_preset_name(0), layout);
	return apply(request, layout, command);
}

static bool ask_device(struct snowflake_id_layout *layout)
{
	struct snowflake *sf;
	int err;

	if (snowflake_open(&sf, DEVICE, 0))
		return false;
	err = snowflake_get_layout(sf, layout);
	snowflake_close(sf);
	return !err;
}

/**
 * layout_of_host - the layout that was asked for, or of the ids of this host
 * @request: what was asked for
 * @layout: where it goes; "twitter" where there is no device
 * @command: the subcommand, ending in a blank
 *
 * Return: STATUS_OK, or the status to exit with after the complaint.
 */
enum status layout_of_host(const struct layout_request *request,
			   struct snowflake_id_layout *layout,
			   const char *command)
{
	struct snapshot snapshot;

	if (request->preset)
		return layout_default(request, layout, command);
	if (!ask_device(layout)) {
		if (!sysfs_there())
			return layout_default(request, layout, command);
		/* Ids would be decoded wrongly by what is not understood. */
		sysfs_snapshot(&snapshot);
		if (!snapshot_layout(&snapshot, layout)) {
			complain("%s/layout: it is not known to this version of the command",
				 SYSFS);
			return STATUS_ERROR;
		}
	}
	return apply(request, layout, command);
}

/**
 * layout_ceiling - how many ids a host can make at most
 * @layout: the layout
 * @workers: how many of its worker ids the host has
 *
 * Return: ids in a second, rounded down; UINT64_MAX if they are more.
 */
uint64_t layout_ceiling(const struct snowflake_id_layout *layout,
			uint64_t workers)
{
	struct snowflake_limits limits;
	uint64_t a_tick, whole;

	snowflake_get_limits(layout, &limits);
	if (__builtin_mul_overflow(workers, limits.ids_per_tick, &a_tick) ||
	    __builtin_mul_overflow(a_tick / layout->tick_ms, 1000, &whole))
		return UINT64_MAX;
	return whole + a_tick % layout->tick_ms * 1000 / layout->tick_ms;
}

/**
 * layout_name - what a layout is called
 * @layout: the layout
 *
 * Return: the name of the preset that it is, or "custom".
 */
const char *layout_name(const struct snowflake_id_layout *layout)
{
	struct snowflake_id_layout preset;
	const char *name;
	unsigned int i;

	for (i = 0; (name = snowflake_preset_name(i)); i++) {
		snowflake_preset(name, &preset);
		if (preset.epoch_ms == layout->epoch_ms &&
		    preset.tick_ms == layout->tick_ms &&
		    preset.timestamp_bits == layout->timestamp_bits &&
		    preset.worker_bits == layout->worker_bits &&
		    preset.sequence_bits == layout->sequence_bits &&
		    preset.order == layout->order)
			return name;
	}
	return "custom";
}

/**
 * order_name - what stands below the timestamp
 * @layout: the layout
 *
 * Return: the word for it.
 */
const char *order_name(const struct snowflake_id_layout *layout)
{
	return attributes[ORDER].choices[layout->order];
}

/**
 * layout_text - a layout in words
 * @layout: the layout
 * @text: where they go
 *
 * Return: @text.
 */
const char *layout_text(const struct snowflake_id_layout *layout,
			char text[LAYOUT_SIZE])
{
	snprintf(text, LAYOUT_SIZE,
		 "%s: %u / %u / %u bits, %u ms a tick, epoch %ju",
		 layout_name(layout), layout->timestamp_bits,
		 layout->worker_bits, layout->sequence_bits, layout->tick_ms,
		 layout->epoch_ms);
	return text;
}

/**
 * print_layout_json - a layout as the member "layout" of an object
 * @layout: the layout
 */
void print_layout_json(const struct snowflake_id_layout *layout)
{
	json_open("layout");
	json_text("preset", layout_name(layout));
	json_number("timestamp_bits", layout->timestamp_bits);
	json_number("worker_bits", layout->worker_bits);
	json_number("sequence_bits", layout->sequence_bits);
	json_text("order", order_name(layout));
	json_number("tick_ms", layout->tick_ms);
	json_number("epoch_ms", layout->epoch_ms);
	json_close();
}
