#include "runtime/link_check.hpp"

#include <algorithm>

namespace tandem {
namespace {

using cluster::Flow;
using cluster::Measurement;

constexpr int round_trips = 60;
constexpr int warm_up_trips = 10;
constexpr std::int64_t most_chunk_bytes = 256 * 1024;
constexpr int chunks_at_once = 4;
constexpr Channel ping{1};
constexpr int first_flow_channel = 2;

double one_way(MpiContext& context, Rank peer, bool first) {
  std::vector<double> times;
  const Slice byte{Bytes(1)};
  for (int trip = 0; trip < round_trips; ++trip) {
    const Seconds start = context.now();
    for (const bool sends : {first, !first}) {
      auto pending = sends ? context.send(peer, ping, byte, {}) : context.receive(peer, ping, byte);
      context.wait(pending);
    }
    if (trip >= warm_up_trips) times.push_back((context.now() - start).count() / 2);
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

/// One end of a flow: keeps a few chunks on their way until all have passed.
struct End {
  Flow* flow;
  bool sends;
  Channel channel;
  std::int64_t chunk;
  std::int64_t left;        ///< chunks not yet started
  std::int64_t passed = 0;  ///< chunks that have ended
  Seconds first{0.0};       ///< end of the first chunks: what was under way before counts for nothing
};

class Ends {
 public:
  Ends(MpiContext& context, Measurement& measurement) : context_(context) {
    for (std::size_t i = 0; i < measurement.flows.size(); ++i) {
      Flow& flow = measurement.flows[i];
      if (flow.from != context.rank() && flow.to != context.rank()) continue;
      // A few dozen chunks at least, so that the first ones, which are left out, are a small part.
      const std::int64_t chunk = std::clamp<std::int64_t>(flow.size.count() / 40, 1024, most_chunk_bytes);
      ends_.push_back({&flow, flow.from == context.rank(), Channel{first_flow_channel + static_cast<int>(i)},
                       chunk, flow.size.count() / chunk});
    }
  }

  void run() {
    pending_.resize(ends_.size() * chunks_at_once);
    for (std::size_t slot = 0; slot < pending_.size(); ++slot) start(slot);
    while (std::any_of(pending_.begin(), pending_.end(), [](const auto& one) { return !one.empty(); })) {
      const std::size_t slot = context_.wait_any(pending_).index;
      ended(ends_[slot / chunks_at_once]);
      start(slot);
    }
  }

 private:
  void start(std::size_t slot) {
    End& end = ends_[slot / chunks_at_once];
    if (end.left == 0) return;
    --end.left;
    const Rank peer = end.sends ? end.flow->to : end.flow->from;
    const Slice slice{Bytes(end.chunk)};
    pending_[slot] =
        end.sends ? context_.send(peer, end.channel, slice, {}) : context_.receive(peer, end.channel, slice);
  }
  void ended(End& end) {
    if (++end.passed == chunks_at_once) end.first = context_.now();
    if (end.sends || end.passed <= chunks_at_once) return;
    const double bytes = static_cast<double>((end.passed - chunks_at_once) * end.chunk);
    end.flow->rate = bytes / (context_.now() - end.first).count();
  }

  MpiContext& context_;
  std::vector<End> ends_;
  std::vector<Pending> pending_;
};

}  // namespace

void measure_links(MpiContext& context, std::vector<Measurement>& measurements,
                   const std::function<void(std::size_t done)>& after) {
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    Measurement& measurement = measurements[i];
    context.meet();
    if (measurement.kind == Measurement::Kind::bandwidth) {
      Ends(context, measurement).run();
    } else {
      const Flow& flow = measurement.flows.front();
      if (context.rank() == flow.from) measurement.latency_s = one_way(context, flow.to, true);
      if (context.rank() == flow.to) one_way(context, flow.from, false);
    }
    after(i + 1);
  }
  context.meet();
}

}  // namespace tandem
