// Options of simulate, run and study: the job on a number of equal devices around one switch (--workers,
// --within), what a study varies (--vary), and the answer in words.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/shared/job_options.hpp"
#include "validation/report/study.hpp"

namespace tandem::cli {

struct ClusterOptions {
  int workers = 0;     ///< 0: as the experiment places them
  std::string within;  ///< "25Gbps"; of a study several, separated by commas

  bool is_wanted() const { return workers > 0; }
};

/// Adds --workers and --within.
std::shared_ptr<ClusterOptions> add_cluster_options(CLI::App& command);

/// Equal devices around one switch.
struct ClusterPlace {
  int workers = 0;
  std::string device, within;
  std::string name() const;  ///< "32-v100-25Gbps"
  /// "25Gbps", also of "25000Mbps".
  std::string bandwidth() const;
};

/// A cluster, and files of platforms with which its answer is compared.
struct ClusterFiles {
  ClusterPlace place;
  std::string one_device;
  std::string slower_links;  ///< the cluster with low_link_share of the rate of its links
};

/// Places the job on such a cluster, whose platform file it writes and prints: devices are those on which the
/// step was measured, else those of the first worker. Nothing without --workers. Errors: ConfigError.
/// Results go to a folder of that cluster and world, unless --out is given.
ClusterFiles place_on_cluster(JobOptions& job, const ClusterOptions& cluster, const std::string& world);

/// Prints "step 101.9 ms on 32 x v100 ..., because ..." for a result directory, and where each number comes
/// from. Simulates what the answer compares (compared_jobs.hpp).
void print_answer(const std::string& directory, const JobOptions& job, const ClusterOptions& cluster,
                  const ClusterFiles& files);

/// The suite of a study that varies compression, bandwidth or workers.
struct VarySuite {
  std::string file;
  std::map<std::string, ClusterPlace> clusters;  ///< by the file of the platform, of which a part may work
  std::string one_device;                        ///< the file of a platform with one
};

/// Writes its files. Errors: ConfigError.
VarySuite write_vary_suite(const JobOptions& job, const ClusterOptions& cluster, const std::string& what);
/// Its platforms differ in the bandwidth, which takes their place among the coordinates. So does the bound of
/// a launch-bound job, which is no choice, among the variants: each bound has a baseline of its own.
void name_places(std::vector<validation::StudyResult>& results, const VarySuite& suite);
/// One line per configuration of that suite: its step, one device's step without exchange over it, and what
/// each value changes; then the assumptions.
std::string vary_text(std::vector<validation::StudyResult> results, const JobOptions& job,
                      const VarySuite& suite);

}  // namespace tandem::cli
