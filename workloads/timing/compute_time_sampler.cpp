#include "workloads/timing/compute_time_sampler.hpp"

#include <algorithm>
#include <cmath>

namespace tandem {

std::uint64_t seed_of_events(std::uint64_t noise_seed, const Job& job) {
  if (job.resume() == nullptr) return noise_seed;
  return Rng::stream(noise_seed, "goes on after", static_cast<std::uint64_t>(job.resume()->round)).next();
}

namespace {

/// Of the logarithm of times with this coefficient of variation.
double sigma_of(double variation) { return std::sqrt(std::log1p(variation * variation)); }

}  // namespace

ComputeTimeSampler::ComputeTimeSampler(const Job& job, Rank rank, std::uint64_t noise_seed)
    : job_(job),
      costs_(job.devices().cost_model(rank)),
      slow_steps_(job.spec().experiment, rank),
      rank_(rank),
      noise_seed_(noise_seed),
      comes_late_(job.spec().experiment.run.devices == DeviceSpeed::emulated) {
  if (job.spec().experiment.physics.noise == NoiseSource::profile)
    noise_ = Rng::stream(seed_of_events(noise_seed, job), "noise", static_cast<std::uint64_t>(rank));
  if (const ServerCost* const stated = job.devices().server_cost(rank); stated && stated->variation > 0.0) {
    service_sigma_ = sigma_of(stated->variation);
    service_ = Rng::stream(seed_of_events(noise_seed, job), "service", static_cast<std::uint64_t>(rank));
  }
}

void ComputeTimeSampler::draw_start() {
  using Kind = Work::Kind;
  const int samples = job_.spec().experiment.workload.batch;
  Seconds computing = costs_.price({.kind = Kind::forward, .samples = samples});
  for (int bucket = 0; bucket < static_cast<int>(job_.model().buckets.size()); ++bucket)
    computing += costs_.price({.kind = Kind::backward, .bucket = bucket, .samples = samples});
  drawn_start_ = computing * Rng::stream(noise_seed_, "start", static_cast<std::uint64_t>(rank_)).uniform();
}

void ComputeTimeSampler::draw_spread() {
  const double given = job_.spec().experiment.physics.spread;
  const double variation = given > 0.0 ? given : job_.devices().spread_of(rank_);
  sigma_ = sigma_of(variation);
  executions_ = Rng::stream(noise_seed_, "spread", static_cast<std::uint64_t>(rank_));
}

/// With mean 1.
double ComputeTimeSampler::log_normal(Rng& random, double sigma) {
  return std::exp(sigma * random.normal() - sigma * sigma / 2);
}

double ComputeTimeSampler::spread_factor(const Work& work) {
  if (!executions_) return 1.0;
  if (work.kind == Work::Kind::decode && work.step >= 0) {
    // If batches are loaded ahead, a step begins with the forward pass.
    Rng of_load = stream_of("spread of a load", work.step);
    return log_normal(of_load, sigma_);
  }
  if (work.step >= 0 && work.step != step_) {
    step_ = work.step;
    Rng of_step = stream_of("spread of a step", step_);
    step_factor_ = log_normal(of_step, sigma_);
  }
  return step_ >= 0 ? step_factor_ : log_normal(*executions_, sigma_);
}

Seconds ComputeTimeSampler::begin() {
  if (job_.devices().profile() == nullptr) return drawn_start_;
  return drawn_start_ + job_.devices().profile()->begin(job_.real_math() ? job_.model().name : "",
                                                        noise_ ? &*noise_ : nullptr);
}

Seconds ComputeTimeSampler::next(const Work& work) {
  if (service_ && is_stated_of_server(work))
    return costs_.price(work) * log_normal(*service_, service_sigma_);
  // Buckets have a backward pass each; other work is the same for all.
  const int bucket = work.kind == Work::Kind::backward ? work.bucket : -1;
  const bool is_first = executed_.insert({work.kind, bucket}).second;
  const Seconds extra = is_first ? costs_.first_extra(work) : Seconds(0);
  const double slow = slow_steps_.next(work);
  if (!noise_) return costs_.price(work) * slow * spread_factor(work) + extra;
  const auto varied = [&](Rng& noise) {
    const Seconds duration = costs_.draw(work, noise) * slow + extra;
    // What takes no time has no deadline that could be missed.
    const bool is_late = comes_late_ && duration > Seconds(0);
    return is_late ? duration + job_.devices().profile()->draw_lateness(noise) : duration;
  };
  if (work.kind == Work::Kind::decode && work.step >= 0) {
    // If batches are loaded ahead, a step begins with the forward pass.
    Rng of_load = stream_of("noise of a load", work.step);
    return varied(of_load);
  }
  if (work.step >= 0 && work.step != step_) {
    step_ = work.step;
    noise_ = stream_of("noise of a step", step_);
  }
  return varied(*noise_);
}

Rng ComputeTimeSampler::stream_of(const char* name, int step) const {
  const auto index = (static_cast<std::uint64_t>(rank_) << 32) | static_cast<std::uint32_t>(step);
  return Rng::stream(noise_seed_, name, index);
}

Seconds ComputeTimeSampler::disk_delay() {
  return noise_ && comes_late_ ? job_.devices().profile()->draw_lateness(*noise_) : Seconds(0);
}

double ComputeTimeSampler::slowdown(const Work& work) const {
  return std::max(costs_.slowdown(work), job_.spec().experiment.physics.overlap_slowdown);
}

bool ComputeTimeSampler::any_slowdown(const Job& job) {
  if (job.spec().experiment.physics.overlap_slowdown > 1.0) return true;
  if (job.devices().profile() == nullptr || job.spec().experiment.run.devices != DeviceSpeed::native)
    return false;
  const CostModel costs = job.devices().cost_model(0);
  for (std::size_t kind = 0; kind < work_names.size(); ++kind)
    if (costs.slowdown({.kind = static_cast<Work::Kind>(kind)}) > 1.0) return true;
  return false;
}

}  // namespace tandem
