// The page of an imported job: one step by streams of the GPU, its buckets, and steps on other machines.
#pragma once

#include <vector>

#include "cli/commands/import_files.hpp"
#include "validation/report/traced_page.hpp"
#include "workloads/trace/checks.hpp"
#include "workloads/trace/timeline.hpp"

namespace tandem::cli {

/// On what a step is estimated.
struct EstimatedMachines {
  int workers = 1;
  double bytes_per_s = 0;          ///< of each one's link
  double element_bytes = 4;        ///< on the wire
  bool waits_for_launches = true;  ///< of a launch-bound job: as profiled; false: the GPU never waits
};

/// Seconds of a step: buckets leave one after the other when they are ready, each as NCCL sums it
/// (nccl_all_reduce), over two cables (cable_latency) from one machine to another.
double estimated_step_s(const trace::TracedJob& job, const EstimatedMachines& machines);

/// What is on the page of the job. `timeline` is empty, and there are no checks, where the file has no events
/// of a GPU.
validation::TracedPage page_of(const ImportedJob& job, const trace::Timeline& timeline,
                               const std::vector<trace::Check>& checks);

}  // namespace tandem::cli
