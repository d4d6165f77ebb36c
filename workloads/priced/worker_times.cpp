#include "workloads/priced/worker_times.hpp"

#include <algorithm>

#include "workloads/job/plan/worker_scaling.hpp"

namespace tandem::priced {
namespace {

WorkerTimes times_of(const Job& job, int worker) {
  const Rank rank = job.roster().workers()[static_cast<std::size_t>(worker)];
  const CostModel costs = job.devices().cost_model(rank);
  const ExchangePlan& plan = job.exchange();
  const ModelDescription& model = job.model();
  const int samples = batch_of(job, worker);
  WorkerTimes times;
  times.host = job.roster().host_of(rank);
  times.workers = {worker};
  times.steps = plan.steps_per_round();
  if (!job.loads_ahead(rank))
    times.load = costs.price({.kind = Work::Kind::decode,
                              .samples = samples,
                              .bytes = job.data().info().record_bytes() * samples});
  times.forward = costs.price({.kind = Work::Kind::forward, .samples = samples});
  for (int bucket = 0; bucket < std::ssize(model.buckets); ++bucket)
    times.backward.push_back(
        costs.price({.kind = Work::Kind::backward, .bucket = bucket, .samples = samples}));
  const Seconds update = costs.price({.kind = Work::Kind::update, .bytes = model.bytes()});
  const Seconds launch = costs.price({.kind = Work::Kind::launch});
  const bool steps_itself = plan.payload() != sync::Payload::gradient || times.steps > 1;
  if (steps_itself)
    times.step_update = std::max(update, launch - (times.ready().back() - times.load));
  else if (launch > Seconds(0))
    times.launched = times.load + launch;
  if (plan.payload() == sync::Payload::change)
    times.change = costs.price({.kind = Work::Kind::reduce, .bytes = model.bytes()});
  // A server that holds the model sends it; otherwise the worker applies what the exchange gave.
  if (!plan.servers_hold_model()) times.update_after = update;
  return times;
}

bool are_equal(const WorkerTimes& one, const WorkerTimes& other) {
  return one.load == other.load && one.forward == other.forward && one.backward == other.backward &&
         one.step_update == other.step_update && one.change == other.change &&
         one.update_after == other.update_after && one.launched == other.launched && one.steps == other.steps;
}

}  // namespace

Seconds WorkerTimes::step() const {
  Seconds time = load + forward + step_update;
  for (const Seconds bucket : backward) time += bucket;
  return time;
}

Seconds WorkerTimes::computing() const { return step() * steps + change; }

std::vector<Seconds> WorkerTimes::ready() const {
  std::vector<Seconds> times;
  Seconds now = load + forward;
  for (const Seconds bucket : backward) times.push_back(now += bucket);
  return times;
}

std::vector<WorkerTimes> classes_of_workers(const Job& job) {
  std::vector<WorkerTimes> classes;
  // Most workers have the device of a class: its times are priced once.
  const auto is_of = [&](const WorkerTimes& of, int worker) {
    const int first = of.workers.front();
    const auto rank_of = [&](int index) { return job.roster().workers()[static_cast<std::size_t>(index)]; };
    return job.devices().are_alike(rank_of(first), rank_of(worker)) &&
           job.loads_ahead(rank_of(first)) == job.loads_ahead(rank_of(worker)) &&
           batch_of(job, first) == batch_of(job, worker);
  };
  for (int worker = 0; worker < std::ssize(job.roster().first_workers()); ++worker) {
    const auto like = std::ranges::find_if(classes, [&](const WorkerTimes& of) { return is_of(of, worker); });
    if (like != classes.end()) {
      like->workers.push_back(worker);
      continue;
    }
    WorkerTimes times = times_of(job, worker);
    const auto found =
        std::ranges::find_if(classes, [&](const WorkerTimes& of) { return are_equal(of, times); });
    if (found == classes.end())
      classes.push_back(std::move(times));
    else
      found->workers.push_back(worker);
  }
  return classes;
}

}  // namespace tandem::priced
