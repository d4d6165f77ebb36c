#include "workloads/records/records.hpp"

#include <algorithm>
#include <iterator>

namespace tandem {
namespace {

template <class Record>
void move_to_end(std::vector<Record>& target, std::vector<Record>& source) {
  target.insert(target.end(), std::make_move_iterator(source.begin()), std::make_move_iterator(source.end()));
}

}  // namespace

void Journal::append(Journal&& other) {
  keep_decisions = keep_decisions || other.keep_decisions;
  move_to_end(steps, other.steps);
  move_to_end(evaluations, other.evaluations);
  move_to_end(decisions, other.decisions);
  move_to_end(caches, other.caches);
  move_to_end(operations, other.operations);
  late_devices += other.late_devices;
  dropped_samples += other.dropped_samples;
  core_wait = std::max(core_wait, other.core_wait);
  other_load = std::max(other_load, other.other_load);
}

}  // namespace tandem
