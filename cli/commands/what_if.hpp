// Of simulate, run and study: the job on a number of equal devices around one switch (--workers, --within),
// what a study varies (--vary), and the answer in words.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/shared/job_options.hpp"
#include "validation/campaign/suite.hpp"
#include "validation/report/study.hpp"

namespace tandem::cli {

struct ClusterOptions {
  int workers = 0;     ///< 0: as the experiment places them
  std::string within;  ///< "25Gbps"; of a study several, separated by commas

  bool is_wanted() const { return workers > 0; }
};

/// Adds --workers and --within.
std::shared_ptr<ClusterOptions> add_cluster_options(CLI::App& command);

/// Places the job on such a cluster, whose platform file it writes and prints: devices are those on which the
/// step was measured, else those of the first worker. Nothing without --workers. Errors: ConfigError.
/// Results go to a folder of that cluster and world, unless --out is given. Returns the file of a platform
/// with one such device (write_one_device); empty without --workers.
std::string place_on_cluster(JobOptions& job, const ClusterOptions& cluster, const std::string& world);

/// The file of a platform with one such device, on which one device's step without exchange is simulated.
/// Pre: this process has not simulated.
std::string write_one_device(const JobOptions& job, const ClusterOptions& cluster);

/// Prints "step 101.9 ms on 32 x v100 ..., because ..." for a result directory, and where each number comes
/// from. Simulates what the answer compares: one device without exchange, kernels that are slower while
/// messages move, sums by rings alone; of a launch-bound job, its other bound.
void print_answer(const std::string& directory, const JobOptions& job, const ClusterOptions& cluster,
                  const std::string& one_device);

/// Writes the suite of a study that varies compression, bandwidth or workers, and returns its file. Errors:
/// ConfigError.
std::string write_vary_suite(const JobOptions& job, const ClusterOptions& cluster, const std::string& what);
/// One line per configuration of that suite: its step, one device's step without exchange over it, and what
/// each value changes; then the assumptions.
std::string vary_text(const validation::Suite& suite, std::vector<validation::StudyResult> results,
                      const JobOptions& job, const std::string& one_device);

}  // namespace tandem::cli
