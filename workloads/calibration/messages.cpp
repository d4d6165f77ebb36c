// Times of messages that are alone between two ranks.
#include <algorithm>

#include "policies/vocabulary/quantile.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem::calibration {

namespace {

/// Slow paths get fewer large messages, and none whose time follows from the slope of smaller ones.
struct MessagePlan {
  std::vector<std::int64_t> sizes;
  std::vector<int> repetitions;
};

MessagePlan messages_for(const Partner& partner, const CalibrationSetting& setting) {
  constexpr double longest_s = 0.5;
  constexpr double all_of_a_size_s = 2.0;
  constexpr int fewest = 5;
  MessagePlan plan;
  for (const std::int64_t size : setting.message_bytes) {
    const double stated_s = partner.bandwidth > 0.0 ? static_cast<double>(size) / partner.bandwidth : 0.0;
    if (stated_s > longest_s) continue;
    const double affordable = all_of_a_size_s / std::max(2.0 * stated_s, 1e-9);
    plan.sizes.push_back(size);
    plan.repetitions.push_back(
        std::min(setting.message_repetitions, static_cast<int>(std::clamp<double>(affordable, fewest, 1e6))));
  }
  return plan;
}

/// The measuring side of one round trip.
struct RoundTrip {
  double one_way_s;
  double send_s;  ///< until the call that sends returned
  double sent_s;  ///< until the send was complete
};

RoundTrip round_trip(Context& context, Rank partner, Slice out, Slice in) {
  Pending answer = protocol::receive<"pongs">(context, partner, in);
  const Seconds start = context.now();
  Pending question = protocol::send<"pings">(context, partner, out);
  const Seconds called = context.now();
  context.wait(question);
  const Seconds sent = context.now();
  context.wait(answer);
  return {(context.now() - start).count() / 2.0, (called - start).count(), (sent - start).count()};
}

}  // namespace

std::vector<Profile::MessageEntry> measure_messages(Context& context, const Partner& partner,
                                                    const CalibrationSetting& setting, std::uint64_t seed) {
  const bool measures = context.rank() == partner.from;
  const MessagePlan plan = messages_for(partner, setting);
  const auto& sizes = plan.sizes;
  // In the memory of gradients and models, so that copies out of GPU memory are part of a message's time.
  const auto largest = static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
  const DeviceArray<std::byte> out(context.device(), largest), in(context.device(), largest);
  std::vector<std::vector<double>> one_way(sizes.size());
  std::vector<std::vector<double>> sends(sizes.size());
  std::vector<std::vector<double>> sent(sizes.size());
  for (const std::size_t kind : shuffled_plan(plan.repetitions, seed)) {
    const Bytes size(sizes[kind]);
    if (measures) {
      const RoundTrip trip = round_trip(context, partner.rank, {size, out.data()}, {size, in.data()});
      one_way[kind].push_back(trip.one_way_s);
      sends[kind].push_back(trip.send_s);
      sent[kind].push_back(trip.sent_s);
    } else {
      Pending question = protocol::receive<"pings">(context, partner.from, {size, in.data()});
      context.wait(question);
      Pending answer = protocol::send<"pongs">(context, partner.from, {size, out.data()});
      context.wait(answer);
    }
  }
  std::vector<Profile::MessageEntry> entries;
  for (std::size_t kind = 0; kind < sizes.size() && measures; ++kind)
    entries.push_back({sizes[kind], quantile(one_way[kind], 0.5), spread_of(one_way[kind]), one_way[kind],
                       quantile(sends[kind], 0.5), sends[kind], quantile(sent[kind], 0.5), sent[kind]});
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return entries;
}

}  // namespace tandem::calibration
