#include "runtime/rank/job_clocks.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "workloads/records/csv_columns.hpp"

namespace tandem {
namespace {

/// All ranks of a machine read the same clock. No program sets it.
Seconds machine_clock() {
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
  return Seconds(std::chrono::duration<double>(since_boot).count());
}

/// A line between the machines' clocks as one between the clocks of the contexts, which start at
/// `start` of the rank's machine and `start_of_0` of rank 0's.
ClockLine between_contexts(ClockLine line, Seconds start, Seconds start_of_0) {
  for (ClockReading* reading : {&line.before, &line.after}) {
    reading->own -= start;
    reading->offset += start - start_of_0;
  }
  return line;
}

}  // namespace

JobClocks::JobClocks(MPI_Comm communicator) : communicator_(communicator), machine_(communicator) {
  if (count_machines(communicator, machine_) > 1)
    before_ = compare_clocks(communicator, machine_.communicator(), machine_clock);
}

std::vector<ClockLine> JobClocks::finish(const MpiContext& context) {
  if (!before_) return {};
  const ClockReading after = compare_clocks(communicator_, machine_.communicator(), machine_clock);
  const Seconds start = machine_clock() - context.now();
  constexpr std::size_t numbers = 7;
  const std::array<double, numbers> own = {
      before_->own.count(), before_->offset.count(), before_->uncertainty.count(),
      after.own.count(),    after.offset.count(),    after.uncertainty.count(),
      start.count()};
  std::vector<std::array<double, numbers>> all(
      context.rank() == 0 ? static_cast<std::size_t>(context.world_size()) : 0);
  check_mpi(MPI_Gather(own.data(), numbers, MPI_DOUBLE, all.data(), numbers, MPI_DOUBLE, 0, communicator_),
            "MPI_Gather");
  std::vector<ClockLine> lines;
  for (const auto& of : all)
    lines.push_back(between_contexts({.before = {Seconds(of[0]), Seconds(of[1]), Seconds(of[2])},
                                      .after = {Seconds(of[3]), Seconds(of[4]), Seconds(of[5])}},
                                     Seconds(of[6]), Seconds(all.front()[6])));
  return lines;
}

void use_clock_of_rank_0(Journal& journal, const std::vector<ClockLine>& lines, Rank rank, Rank writer) {
  const auto line_of = [&](Rank of) { return lines.at(static_cast<std::size_t>(of)); };
  visit_moments(journal, [line = line_of(rank)](Seconds& moment) { moment = line.on_rank_0(moment); });
  for (auto& evaluation : journal.evaluations)
    evaluation.checkpoint_time = line_of(writer).on_rank_0(evaluation.checkpoint_time);
}

nlohmann::json describe_clocks(const std::vector<ClockLine>& lines,
                               const std::vector<std::string>& machines) {
  TANDEM_CHECK(lines.size() == machines.size(), "clocks", lines.size(), "machines", machines.size());
  nlohmann::json all = nlohmann::json::array();
  std::set<std::string> known;
  std::vector<double> uncertainties;
  for (std::size_t rank = 0; rank < lines.size(); ++rank) {
    if (!known.insert(machines[rank]).second) continue;
    const ClockLine& line = lines[rank];
    uncertainties.push_back(line.uncertainty().count());
    all.push_back({{"machine", machines[rank]},
                   {"offset_before_s", line.before.offset.count()},
                   {"offset_after_s", line.after.offset.count()},
                   {"drift", line.drift()},
                   {"uncertainty_s", uncertainties.back()}});
  }
  // The two machines that are known least.
  std::ranges::sort(uncertainties, std::greater());
  const double two = uncertainties.size() > 1 ? uncertainties[0] + uncertainties[1] : 0.0;
  return {{"machines", std::move(all)}, {"uncertainty_s", two}};
}

}  // namespace tandem
