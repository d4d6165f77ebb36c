// A small platform, and a job on it that reads its samples through cache nodes.
#pragma once

#include <initializer_list>
#include <string>

#include "platforms/description.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem::testing {

/// Hosts with a GPU and a disk of this rate each. `file`: the name in messages.
inline platforms::Description hosts_with_disks(const std::string& file,
                                               std::initializer_list<const char*> names,
                                               BytesPerSecond rate = BytesPerSecond(1e8)) {
  platforms::Description platform;
  platform.file = file;
  for (const char* name : names) {
    platforms::Host host;
    host.name = name;
    host.device = platforms::find_device("v100");
    host.disks = {{"disk", rate, rate}};
    platform.hosts.push_back(host);
  }
  return platform;
}

/// Real mathematics, one round of a ring; where its ranks are is left open.
inline Experiment cached_experiment(const std::string& dataset, int samples, int batch) {
  Experiment experiment;
  experiment.workload.math = Math::real;
  experiment.workload.model = "mlp";
  experiment.workload.dataset = dataset;
  experiment.workload.train_samples = samples;
  experiment.workload.test_samples = 10;
  experiment.workload.batch = batch;
  experiment.sync.over = sync::Route::all_reduce;
  experiment.sync.collective = "ring";
  experiment.data.source = DataSource::storage;
  experiment.stop.rounds = 1;
  return experiment;
}

}  // namespace tandem::testing
