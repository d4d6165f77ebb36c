// Machines that depart and arrive, in reports: what a report says of them, and its tables. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/compare/members.hpp"
#include "validation/report/page.hpp"
#include "validation/report/report.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// Slots that a page shows one by one; those with departures come first.
inline constexpr std::size_t most_slots = 16;

/// The slots that are shown, in ascending order: those with the most machines, in any of these results.
std::vector<int> shown_slots(const std::vector<const Results*>& results);

MembersOfRun members_of_run(const Results& results, const std::vector<int>& slots);

/// A change of the members, on the page of one result.
struct MemberEvent {
  double time_s = 0;
  int slot = 0;
  std::int64_t machine = 0;
  std::string host{}, event{}, cause{};
  std::int64_t view = 0;
};
/// What a page of one result says.
struct MembersOfResult : MembersOfRun {
  std::vector<MemberEvent> events{};  ///< the first ones
  std::size_t events_left_out = 0;
  std::string summary{};  ///< a sentence
};
/// None where no machine may depart.
std::optional<MembersOfResult> members_of_result(const Results& results);
Table events_table(const MembersOfResult& members);

/// What a report says of a configuration's members; none without.
std::optional<ReportMembers> report_members(const std::optional<Members>& members);
/// The same, of each machine, and both worlds as members_of_run().
std::optional<ShownMembers> shown_members(const Results& simulated, const Results& measured,
                                          const std::optional<Members>& members);

/// Of one slot. None where no machine may depart.
std::optional<WindowMembers> members_in_window(const Results& results, int slot, double begin, double length);

/// In how many configurations machines were the same, and by how much lost samples differ; empty without
/// members.
std::string members_text(const Report& report);
/// One row per configuration that has members: departures, arrivals, lags, lost samples. Empty: there are
/// none.
Table members_table(const Report& report);
/// Each machine of a configuration: when it joined and departed.
Table occupants_table(const ShownMembers& members);
/// A section with members_table() and what its columns mean; nothing without members.
void add_members(const Report& report, Page& page);
/// The differences of a configuration's members in words, and those after the end; empty without.
std::vector<std::string> members_notes(const ReportConfiguration& configuration);

}  // namespace tandem::validation
