// Reports of machines that depart and arrive: data and tables. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "validation/compare/members.hpp"
#include "validation/report/page.hpp"
#include "validation/report/report.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// Limit of the slots that a page shows one by one.
inline constexpr std::size_t most_slots = 16;

/// The slots that are shown, in ascending order: those with the most machines, in any of these results.
std::vector<int> shown_slots(const std::vector<const Results*>& results);

MembersOfRun members_of_run(const Results& results, const std::vector<int>& slots);

/// A change of the members, on the page of one result.
struct MemberEvent {
  double time_s = 0;
  int slot = 0;
  std::int64_t machine = 0;
  std::string host{}, region{}, zone{}, event{}, cause{};
  std::int64_t view = 0;
};
/// The members on the page of one result.
struct MembersOfResult : MembersOfRun {
  std::vector<MemberEvent> events{};  ///< the first ones, of which there may be more
  std::size_t events_left_out = 0;
  std::string summary{};  ///< a sentence
};
/// None where no machine may depart.
std::optional<MembersOfResult> members_of_result(const Results& results);
Table events_table(const MembersOfResult& members);

/// The members of a configuration in a report; none: it has no members.
std::optional<ReportMembers> report_members(const std::optional<Members>& members);
/// The members with each machine; both worlds as members_of_run().
std::optional<ShownMembers> shown_members(const Results& simulated, const Results& measured,
                                          const std::optional<Members>& members);

/// The members of one slot within a window. None where no machine may depart.
std::optional<WindowMembers> members_in_window(const Results& results, int slot, double begin, double length);

/// In how many configurations both worlds had the same machines, and by how much lost samples differ. Empty
/// without members.
std::string members_text(const Report& report);
/// One row per configuration that has members: departures, arrivals, lags, lost samples. Empty: there are
/// none.
Table members_table(const Report& report);
/// How fast a configuration trained with each number of workers; no rows: it never changed.
Table numbers_of_workers_table(const ReportConfiguration& configuration);
/// Each machine of a configuration: when it joined and departed.
Table occupants_table(const ShownMembers& members);
/// A section with members_table() and what its columns mean; nothing without members.
void add_members(const Report& report, Page& page);
/// The differences between the members of both worlds, in words, and those after the end. Empty without
/// members.
std::vector<std::string> members_notes(const ReportConfiguration& configuration);

}  // namespace tandem::validation
