// The layers of the tree: which folder may include which.
#pragma once

#include <string>
#include <vector>

namespace tandem {

using Texts = std::vector<std::string>;

struct Layer {
  std::string folder;  ///< the longest matching entry applies
  Texts own;           ///< prefixes of the project headers that it may include
  Texts libraries;     ///< prefixes of the library headers that it may include, besides the standard library
};

/// An algorithm may use its own vocabulary and the shared code of algorithms, but no other family.
inline Texts sync_family(const std::string& family) {
  return {"policies/vocabulary/", "policies/sync/policy.hpp", "policies/sync/update_rule.hpp",
          "policies/sync/common/", "policies/sync/" + family};
}

/// The policies, the Context interface, and these sub-folders of workloads/.
inline Texts up_to(const Texts& folders) {
  Texts own = {"policies/", "platforms/description", "workloads/context", "workloads/protocol.hpp"};
  for (const auto& folder : folders) own.push_back("workloads/" + folder);
  return own;
}

// What each sub-folder may include, lowest layer first: an entry may name only folders above it in this list,
// and itself.
inline const std::vector<Layer>& layers_of_policies() {
  static const std::vector<Layer> all = {
      {"policies/vocabulary/", {"policies/vocabulary/"}, {}},
      {"policies/collectives/", {"policies/vocabulary/", "policies/collectives/"}, {}},
      {"policies/compression/",
       {"policies/vocabulary/", "policies/collectives/element.hpp", "policies/compression/"},
       {"zstd.h"}},
      {"policies/sharding/",
       {"policies/vocabulary/", "policies/collectives/schedule.hpp", "policies/sharding/"},
       {}},
      {"policies/sampling/", {"policies/vocabulary/", "policies/sampling/"}, {}},
      {"policies/lifetimes/", {"policies/vocabulary/", "policies/lifetimes/"}, {}},
      {"policies/lifetimes/estimate/",
       {"policies/vocabulary/", "policies/lifetimes/lifetime.hpp", "policies/lifetimes/estimate/"},
       {"boost/math/"}},
      {"policies/estimates/", {"policies/vocabulary/", "policies/estimates/"}, {"boost/math/", "libsvm/"}},
      {"policies/prices/", {"policies/vocabulary/", "policies/prices/"}, {"boost/math/"}},
      {"policies/cache/", {"policies/vocabulary/", "policies/sampling/sampler.hpp", "policies/cache/"}, {}},
      {"policies/checkpointing/", {"policies/vocabulary/", "policies/checkpointing/"}, {}},
      {"policies/money/", {"policies/vocabulary/", "policies/money/"}, {}},
      {"policies/planning/", {"policies/vocabulary/", "policies/planning/"}, {}},
      {"policies/provisioning/", {"policies/vocabulary/", "policies/provisioning/"}, {}},
      {"policies/recovery/",
       {"policies/vocabulary/", "policies/provisioning/policy.hpp", "policies/recovery/"},
       {}},
      {"policies/sync/", {"policies/vocabulary/", "policies/sync/"}, {}},
      {"policies/sync/common/",
       {"policies/vocabulary/", "policies/sync/policy.hpp", "policies/sync/update_rule.hpp",
        "policies/sync/common/"},
       {}},
      {"policies/sync/rounds/", sync_family("rounds/"), {}},
      {"policies/sync/local_steps/", sync_family("local_steps/"), {}},
      {"policies/sync/asynchronous/", sync_family("asynchronous/"), {}},
      {"policies/sync/decentralised/", sync_family("decentralised/"), {}},
  };
  return all;
}

inline const std::vector<Layer>& layers_of_inputs() {
  static const std::vector<Layer> all = {
      // The rank program reads these two folders; they use neither SimGrid nor Boost.
      {"platforms/description", {"policies/vocabulary/", "platforms/description"}, {"nlohmann/"}},
      {"platforms/csv_table", {"policies/vocabulary/", "platforms/csv_table"}, {}},
      {"platforms/device_catalog",
       {"policies/vocabulary/", "platforms/description", "platforms/csv_table", "platforms/device_catalog",
        "platforms/embedded_tables.hpp"},
       {}},
      {"platforms/discovery/",
       {"policies/vocabulary/", "platforms/discovery/"},
       {"nlohmann/", "fmt/", "yaml-cpp/", "expat.h"}},
      {"platforms/",
       {"policies/vocabulary/", "platforms/"},
       {"simgrid/", "xbt/", "boost/", "nlohmann/", "fmt/", "sys/", "unistd.h", "poll.h", "fcntl.h",
        "expat.h"}},
      {"workloads/files/", {"policies/vocabulary/", "workloads/files/"}, {"unistd.h"}},
      {"workloads/vectors/", {"policies/", "workloads/vectors/"}, {}},
      // The interface between roles and their environment: the lowest layer, below all code that blocks on
      // it.
      {"workloads/context.hpp", {"policies/vocabulary/", "policies/collectives/element.hpp"}, {}},
      {"workloads/context_decorator.hpp", {"policies/", "workloads/context.hpp"}, {}},
      {"workloads/protocol.hpp", {"policies/", "workloads/context.hpp"}, {}},
      {"workloads/discovery/",
       {"policies/vocabulary/", "platforms/discovery/", "workloads/context.hpp", "workloads/discovery/"},
       {}},
      {"workloads/data/",
       {"policies/cache/", "policies/sampling/", "policies/vocabulary/", "workloads/files/",
        "workloads/data/"},
       {"fmt/", "zlib.h", "zstd.h", "spng.h", "turbojpeg.h", "matio.h", "dlfcn.h", "sys/", "unistd.h",
        "fcntl.h"}},
      {"workloads/trace/",
       {"policies/vocabulary/", "workloads/trace/"},
       {"nlohmann/", "zlib.h", "google/protobuf/"}},
      {"workloads/experiment/",
       {"policies/vocabulary/", "workloads/experiment/"},
       {"nlohmann/", "yaml-cpp/"}},
      // The one place that looks names up in the catalogues.
      {"workloads/experiment/resolved_experiment",
       {"policies/", "workloads/data/augmentation.hpp", "workloads/data/dataset.hpp",
        "workloads/experiment/"},
       {}},
      {"workloads/model/", {"policies/", "workloads/vectors/", "workloads/data/", "workloads/model/"}, {}},
      {"workloads/learner/",
       {"policies/vocabulary/", "workloads/files/", "workloads/vectors/", "workloads/data/",
        "workloads/model/", "workloads/learner/"},
       {"torch/", "ATen/", "c10/", "caffe2/serialize/", "nlohmann/", "fmt/", "dlfcn.h", "unistd.h"}},
      {"workloads/cost/",
       {"policies/", "platforms/description", "workloads/context.hpp", "workloads/experiment/",
        "workloads/model/", "workloads/cost/"},
       {"nlohmann/", "fmt/", "sys/utsname.h"}},
      {"workloads/records/",
       {"policies/vocabulary/", "policies/money/", "policies/lifetimes/estimate/", "workloads/context",
        "workloads/protocol.hpp", "workloads/experiment/", "workloads/records/"},
       {"nlohmann/", "fmt/", "sys/", "unistd.h", "fcntl.h"}},
  };
  return all;
}

inline const std::vector<Layer>& layers_of_jobs() {
  static const std::vector<Layer> all = {
      {"workloads/job/placement/", up_to({"experiment/", "cost/", "job/placement/"}), {"fmt/"}},
      {"workloads/job/plan/",
       up_to({"files/", "experiment/", "data/", "model/", "learner/", "cost/", "records/", "job/placement/",
              "job/plan/"}),
       {"nlohmann/", "fmt/"}},
      {"workloads/job/check/",
       up_to({"experiment/", "data/", "model/", "learner/", "cost/", "records/", "job/"}),
       {"nlohmann/", "fmt/"}},
      {"workloads/timing/",
       up_to({"cost/", "job/placement/", "job/plan/", "timing/"}),
       {"nlohmann/", "fmt/"}},
      {"workloads/checkpoint/",
       up_to({"files/", "vectors/", "model/", "learner/", "records/", "job/placement/", "job/plan/",
              "checkpoint/"}),
       {"nlohmann/", "fmt/"}},
      {"workloads/membership/", up_to({"vectors/", "experiment/", "records/", "membership/"}), {}},
      {"workloads/membership/generations/",
       up_to({"data/tier_index.hpp", "files/", "experiment/", "records/", "job/placement/", "job/plan/",
              "checkpoint/", "membership/"}),
       {"nlohmann/", "fmt/"}},
      {"workloads/priced/",
       up_to({"files/", "cost/", "model/", "data/", "experiment/", "records/", "job/placement/", "job/plan/",
              "timing/", "membership/", "priced/"}),
       {"nlohmann/", "fmt/"}},
      {"workloads/trace/job_nodes",
       up_to({"files/", "records/", "job/placement/", "job/plan/", "trace/"}),
       {"fmt/"}},
      {"workloads/planning/",
       {"policies/", "platforms/description", "platforms/device_catalog", "platforms/offers.hpp",
        "platforms/platform_writer.hpp", "platforms/xml_text.hpp", "workloads/files/",
        "workloads/experiment/", "workloads/records/", "workloads/job/", "workloads/priced/",
        "workloads/planning/"},
       {"fmt/"}},
      {"workloads/exchange/",
       up_to({"vectors/", "model/", "learner/", "records/", "job/placement/", "job/plan/", "exchange/"}),
       {"fmt/"}},
      {"workloads/roles/cache/",
       up_to({"files/", "data/", "records/", "job/", "checkpoint/", "membership/", "roles/cache/"}),
       {}},
      {"workloads/roles/",
       up_to({"files/", "vectors/", "data/", "model/", "learner/", "records/", "job/placement/", "job/plan/",
              "checkpoint/", "membership/", "exchange/", "roles/"}),
       {"nlohmann/", "fmt/"}},
      {"workloads/calibration/",
       up_to({"vectors/", "data/", "model/", "cost/", "job/placement/", "job/plan/", "exchange/", "roles/",
              "calibration/"}),
       {"nlohmann/", "fmt/", "unistd.h", "fcntl.h"}},
  };
  return all;
}

inline const std::vector<Layer>& layers_of_worlds() {
  static const std::vector<Layer> all = {
      {"sim/",
       {"policies/", "platforms/", "workloads/", "sim/"},
       {"simgrid/", "xbt/", "boost/property_tree/", "nlohmann/", "fmt/", "sys/", "unistd.h"}},
      // Runs the runtime's MPI code on SimGrid's MPI; mpi.h is SimGrid's header here, never Open MPI's.
      {"sim/witness/",
       {"policies/", "platforms/simgrid_version.hpp", "workloads/", "sim/", "runtime/mpi/", "sim/witness/"},
       {"simgrid/", "smpi/", "mpi.h", "nlohmann/"}},
      {"runtime/process/",
       {"policies/vocabulary/", "runtime/process/"},
       {"fmt/", "sys/", "unistd.h", "fcntl.h", "signal.h"}},
      {"runtime/launcher/",
       {"policies/vocabulary/", "workloads/cost/eager_limit.hpp", "runtime/process/", "runtime/launcher/"},
       {"fmt/", "sys/", "unistd.h", "poll.h", "signal.h", "sched.h"}},
      {"runtime/cluster/",
       {"policies/vocabulary/", "workloads/files/", "runtime/process/", "runtime/launcher/",
        "runtime/cluster/"},
       {"fmt/", "nlohmann/", "sys/", "unistd.h", "fcntl.h", "signal.h", "sched.h"}},
      {"runtime/machines/",
       {"policies/vocabulary/", "runtime/process/", "runtime/launcher/", "runtime/machines/"},
       {"fmt/", "nlohmann/", "yaml-cpp/", "sys/", "unistd.h", "poll.h", "arpa/inet.h"}},
      {"runtime/gpu/", {"policies/", "workloads/vectors/", "runtime/gpu/"}, {"cuda", "dlfcn.h", "unistd.h"}},
      // The GPUs that sum together are those of the ranks of one MPI communicator.
      {"runtime/gpu/device_collective.hpp",
       {"policies/vocabulary/", "policies/collectives/element.hpp", "runtime/gpu/"},
       {"mpi.h"}},
      {"runtime/mpi/",
       {"policies/", "workloads/files/", "workloads/vectors/", "workloads/context.hpp", "runtime/gpu/",
        "runtime/mpi/"},
       {"mpi.h", "mpi-ext.h", "cuda", "nccl.h", "liburing.h", "signal.h", "sys/", "unistd.h", "fcntl.h",
        "pthread.h", "sched.h", "time.h", "emmintrin.h", "dlfcn.h"}},
      {"runtime/rank/",
       {"policies/", "platforms/description", "platforms/discovery/", "workloads/", "runtime/"},
       {"mpi.h", "nlohmann/", "fmt/", "sys/", "unistd.h", "fcntl.h", "poll.h", "signal.h", "pthread.h",
        "sched.h", "getopt.h", "time.h", "arpa/inet.h", "ifaddrs.h", "dlfcn.h", "malloc.h"}},
  };
  return all;
}

inline const std::vector<Layer>& layers_of_use() {
  static const std::vector<Layer> all = {
      {"validation/compare/",
       {"policies/", "workloads/experiment/", "workloads/records/", "workloads/job/plan/data_plan.hpp",
        "workloads/job/plan/commit_machines.hpp", "workloads/job/plan/recovery_plan.hpp",
        "validation/compare/"},
       {"nlohmann/", "fmt/", "boost/math/", "math.h"}},
      {"validation/campaign/",
       {"policies/vocabulary/", "workloads/experiment/", "workloads/records/",
        "workloads/job/plan/ensemble.hpp", "workloads/job/check/experiment_file.hpp", "validation/compare/",
        "validation/campaign/"},
       {"nlohmann/", "fmt/", "yaml-cpp/"}},
      {"validation/page/", {"validation/page/"}, {}},
      {"validation/report/",
       {"policies/vocabulary/", "platforms/name_ranges.hpp", "platforms/xml_text.hpp",
        "workloads/experiment/", "workloads/files/", "workloads/records/", "validation/compare/",
        "validation/campaign/study_section.hpp", "validation/page/", "validation/report/"},
       {"nlohmann/", "fmt/"}},
      {"cli/shared/",
       {"policies/vocabulary/", "platforms/", "workloads/", "runtime/process/", "runtime/launcher/",
        "validation/", "cli/shared/"},
       {"CLI/", "nlohmann/", "fmt/", "unistd.h", "signal.h", "fcntl.h"}},
      {"cli/machines/",
       {"policies/vocabulary/", "platforms/", "workloads/", "runtime/process/", "runtime/launcher/",
        "runtime/cluster/", "runtime/machines/", "validation/compare/", "cli/shared/", "cli/machines/"},
       {"CLI/", "nlohmann/", "fmt/", "unistd.h"}},
      {"cli/jobs/",
       {"policies/", "platforms/", "workloads/", "sim/", "runtime/process/", "runtime/launcher/",
        "cli/shared/", "cli/machines/", "cli/jobs/"},
       {"nlohmann/", "fmt/"}},
      {"cli/studies/",
       {"policies/vocabulary/", "workloads/", "runtime/process/", "runtime/launcher/", "validation/",
        "cli/shared/", "cli/machines/", "cli/jobs/", "cli/studies/"},
       {"CLI/", "nlohmann/", "fmt/"}},
      {"cli/fit/",
       {"policies/", "platforms/csv_table.hpp", "platforms/description", "platforms/host_properties.hpp",
        "workloads/", "validation/report/", "cli/shared/", "cli/jobs/", "cli/fit/"},
       {"nlohmann/", "fmt/", "unistd.h"}},
      {"cli/commands/",
       {"policies/", "platforms/", "workloads/", "sim/", "runtime/process/", "runtime/launcher/",
        "runtime/cluster/", "runtime/machines/", "validation/", "cli/"},
       {"CLI/", "nlohmann/", "fmt/", "unistd.h"}},
      {"tests/examples/",
       {"policies/vocabulary/", "policies/sync/", "workloads/", "sim/", "runtime/mpi/", "tests/examples/"},
       {"mpi.h"}},
  };
  return all;
}

inline const std::vector<Layer>& layers() {
  static const std::vector<Layer> all = [] {
    std::vector<Layer> joined;
    for (const auto* part : {&layers_of_policies(), &layers_of_inputs(), &layers_of_jobs(),
                             &layers_of_worlds(), &layers_of_use()})
      joined.insert(joined.end(), part->begin(), part->end());
    return joined;
  }();
  return all;
}

}  // namespace tandem
