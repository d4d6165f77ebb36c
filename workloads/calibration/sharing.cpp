// Effects of all ranks being busy: emulated devices are late, and messages share a link unequally.
#include <algorithm>
#include <cmath>

#include "policies/vocabulary/quantile.hpp"
#include "workloads/calibration/measurement.hpp"

namespace tandem::calibration {

std::vector<double> measure_lateness(Context& context, const CalibrationSetting& setting) {
  constexpr Seconds work(2e-3);
  constexpr Bytes size(16 << 10);
  std::vector<std::byte> out(static_cast<std::size_t>(size.count()));
  std::vector<std::byte> in(out.size());
  const Rank next = (context.rank() + 1) % context.world_size();
  const Rank previous = (context.rank() + context.world_size() - 1) % context.world_size();
  std::vector<double> lateness;
  for (int repetition = 0; repetition < setting.lateness_repetitions; ++repetition) {
    Pending arriving = protocol::receive<"pings">(context, previous, {size, in.data()});
    Pending leaving = protocol::send<"pings">(context, next, {size, out.data()});
    const Seconds start = context.now();
    Pending done = context.sleep(work);
    context.wait(done);
    lateness.push_back(std::max(0.0, (context.now() - start - work).count()));
    context.wait(arriving);
    context.wait(leaving);
  }
  return lateness;
}

namespace {

/// Median of the largest of `count` standard normals: each of them is below it with probability
/// 0.5^(1/count).
double median_largest(std::size_t count) {
  const double wanted = std::pow(0.5, 1.0 / static_cast<double>(count));
  double low = -9.0;
  double high = 9.0;
  while (high - low > 1e-9) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < wanted ? low : high) = middle;
  }
  return low;
}

/// The times, sorted, at which rank 0 has received each of the concurrent messages to it; it sends as much to
/// each sender at the same time, like a server in a job.
std::vector<double> receive_at_once(Context& context, const std::vector<Rank>& sharers, Slice out, Slice in) {
  std::vector<Pending> arriving;
  std::vector<Pending> leaving;
  for (const Rank sharer : sharers) arriving.push_back(protocol::receive<"pongs">(context, sharer, in));
  for (const Rank sharer : sharers) {
    Pending go = protocol::send<"pings">(context, sharer, {});
    context.wait(go);
  }
  for (const Rank sharer : sharers) leaving.push_back(protocol::send<"pings">(context, sharer, out));
  const Seconds start = context.now();
  std::vector<double> times;
  for (std::size_t i = 0; i < sharers.size(); ++i) {
    context.wait_any(arriving);
    times.push_back((context.now() - start).count());
  }
  context.wait_all(leaving);
  return times;
}

/// Standard deviation (sigma) of the logarithm of the weights of N messages that start together. The message
/// with the largest weight w ends first; the last one ends when all bytes are transferred. So last / first is
/// w over the mean weight. For log-normal weights its logarithm is about sigma z - sigma^2 (1 - 1/N) / 2,
/// with z the largest of N standard normals. The median of z is used, because a stall of the machine in one
/// repetition does not change it.
double spread_of_weights(double log_last_over_first, std::size_t count) {
  const double z = median_largest(count);
  const double k = 0.5 * (1.0 - 1.0 / static_cast<double>(count));
  const double root = std::sqrt(std::max(0.0, z * z - 4 * k * log_last_over_first));
  return (z - root) / (2 * k);
}

}  // namespace

double measure_share_jitter(Context& context, const CalibrationSetting& setting) {
  const auto& sharers = setting.sharers;
  const bool shares = std::find(sharers.begin(), sharers.end(), context.rank()) != sharers.end();
  if (sharers.size() < 2 || (context.rank() != 0 && !shares)) return 0.0;
  constexpr Bytes size(1 << 20);
  std::vector<std::byte> out(static_cast<std::size_t>(size.count()));
  std::vector<std::byte> in(out.size());
  std::vector<double> log_last_over_first;
  for (int repetition = 0; repetition < setting.sharing_repetitions; ++repetition) {
    if (context.rank() == 0) {
      const auto times = receive_at_once(context, sharers, {size, out.data()}, {size, in.data()});
      log_last_over_first.push_back(std::log(times.back() / times.front()));
    } else {
      Pending go = protocol::receive<"pings">(context, 0);
      Pending arriving = protocol::receive<"pings">(context, 0, {size, in.data()});
      context.wait(go);
      Pending sent = protocol::send<"pongs">(context, 0, {size, out.data()});
      context.wait(sent);
      context.wait(arriving);
    }
  }
  if (context.rank() != 0) return 0.0;
  return spread_of_weights(quantile(log_last_over_first, 0.5), sharers.size()) *
         static_cast<double>(size.count());
}

}  // namespace tandem::calibration
