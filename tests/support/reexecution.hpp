// Trains a finished job again from its records, in double precision, without its roles, optimisers and
// learner: each gradient is computed here, at the model and on the samples that the records name, and the
// recorded decisions are carried out by the update that is published for the algorithm. The result must be
// the model of the job.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "policies/sync/policy.hpp"
#include "workloads/data/dataset.hpp"
#include "workloads/job/plan/shard_layout.hpp"
#include "workloads/model/description.hpp"
#include "workloads/records/records.hpp"

namespace tandem::testing {

/// One element of the model that workers share, in one update.
struct Element {
  double& x;        ///< of the model
  double& v;        ///< kept from update to update; 0 at first
  double mean;      ///< weighted mean of the accepted gradients, or changes of models
  double scale;     ///< of the decision `apply`
  double sent;      ///< x in the model that the worker had received whose push was accepted last
  double previous;  ///< x before the last update
};

/// The update that is published for an algorithm, besides what its policy decides. Workers step by plain
/// SGD, with `momentum` where they step alone.
struct Rule {
  /// Of the shared model. Empty without one: workers average their models.
  std::function<void(Element&)> update = {};
  /// How much a change counts in the mean, by the samples since the last one of its worker; empty: as the
  /// records say.
  std::function<double(int samples)> weight = {};
  /// Above 0: workers keep their own models; in an update, each of those whose pushes were accepted moves
  /// towards the shared model by this share of the distance, and that one moves by the sum of these.
  double pull = 0.0;
  double rate = 0.0;      ///< of a step that a worker takes alone
  double momentum = 0.0;  ///< of these, in PyTorch's form
};

/// A job that has ended: its records, and the models before and after it. Its network is
/// save_tanh_network().
struct FinishedJob {
  sync::Route over = sync::Route::server;
  std::vector<Rank> workers = {};  ///< by index
  std::vector<Rank> servers = {};  ///< by shard; empty over another route
  ShardLayout shards = {};         ///< of these
  /// With decisions and losses; where workers exchange in pairs, with operations.
  Journal journal = {};
  ModelDescription model = {};
  const Dataset* dataset = nullptr;
  std::vector<float> first = {};  ///< model
  std::vector<float> last = {};   ///< model
};

/// The contribution with this number, counted from 0 in the order in which they count, counts `factor` times:
/// an accepted push, or where workers average models, a step of one.
struct PlantedFault {
  int contribution = -1;
  double factor = 1.0;
};

struct Reexecuted {
  std::vector<double> model;
  int gradients = 0;  ///< that were computed
  /// The largest difference between a recorded loss of a sample and the one that was computed here.
  double loss_error = 0.0;
};

/// Errors: std::runtime_error for records that do not fit together.
Reexecuted reexecute(const FinishedJob& job, const Rule& rule, const PlantedFault& fault = {});

/// |found - the job's last model| / |the job's last model - its first one|.
double relative_error(const FinishedJob& job, std::span<const double> found);

/// How much of that is explained by the float arithmetic of a job with that many gradients.
double rounding_error(const FinishedJob& job, int gradients);

}  // namespace tandem::testing
