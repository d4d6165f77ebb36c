// Machines that depart and arrive, in reports: what the document of a report says of them, and its tables.
// Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "validation/compare/members.hpp"
#include "validation/report/page.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// Slots that a page shows one by one; those with departures come first.
inline constexpr std::size_t most_slots = 16;

/// The slots that are shown, in ascending order: those with the most machines, in any of these results.
std::vector<int> shown_slots(const std::vector<const Results*>& results);

/// What a timeline and a chart of live workers show of one run: {end_s (of the job), live: [[time, workers],
/// ...], slots_left_out, slots: [{slot, label, stays: [{machine, arrived (while the job ran), joined_s,
/// departed_s (null: it stayed), gone_s, cause}]}], pauses: [[from, to], ...], launches: launch_spans()}.
nlohmann::json members_of_run(const Results& results, const std::vector<int>& slots);

/// What a page of one result says: members_of_run(), its "events": [{time_s, slot, machine, host, event,
/// cause, epoch}], of which the first are kept, "events_left_out", and "summary", a sentence. Null where no
/// machine may depart.
nlohmann::json members_of_result(const Results& results);
/// The events of members_of_result().
Table events_table(const nlohmann::json& members);

/// What report.hpp says of a configuration's members; null without.
nlohmann::json members_json(const std::optional<Members>& members);
/// The same, of each machine, and both worlds as members_of_run(). Null without.
nlohmann::json members_detail(const Results& simulated, const Results& measured,
                              const std::optional<Members>& members);

/// Within a window of a timeline: {absent: [[start, duration], ...], marks: [[time, "joined" or "departed",
/// text], ...]} of one slot; times from the begin of the window. Null where no machine may depart.
nlohmann::json members_in_window(const Results& results, int slot, double begin, double length);

/// In how many configurations machines were the same, and by how much lost samples differ; empty without
/// members.
std::string members_text(const nlohmann::json& document);
/// One row per configuration that has members: departures, arrivals, lags, lost samples. Empty: there are
/// none.
Table members_table(const nlohmann::json& document);
/// Each machine of a configuration: when it joined and departed. `detail`: of members_detail().
Table occupants_table(const nlohmann::json& detail);
/// A section with members_table() and what its columns mean; nothing without members.
void add_members(const nlohmann::json& document, Page& page);
/// The differences of a configuration's members in words, and those after the end; empty without.
std::vector<std::string> members_notes(const nlohmann::json& configuration);

}  // namespace tandem::validation
