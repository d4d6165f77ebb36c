#include "runtime/rank/link_check.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "policies/vocabulary/quantile.hpp"
#include "runtime/mpi/mpi_check.hpp"

namespace tandem {
namespace {

using cluster::Flow;
using cluster::Measurement;

constexpr int round_trips = 60;
constexpr int warm_up_trips = 10;
constexpr int repetitions = 3;  // the median is used, because other programs may disturb one
// Short enough that Open MPI sends it immediately. The handshake before longer messages would wait behind
// traffic in the other direction, and the link would seem slow.
constexpr std::int64_t most_chunk_bytes = 32 * 1024;
constexpr int chunks_at_once = 8;
// The part of a flow's expected duration in which arrivals count, because all other flows are in flight then.
constexpr double window_begin = 0.2;
constexpr double window_end = 0.8;
constexpr Channel ping{1};
constexpr std::int16_t flow_stream = 2;

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
  return upper_median(std::move(times));
}

using Rates = std::map<Flow*, std::vector<double>>;

/// One end of a flow: keeps a few chunks in flight until all have passed.
struct End {
  Flow* flow;
  bool sends;
  Channel channel;
  std::int64_t chunk;
  std::int64_t left;                    ///< chunks not yet started
  double duration_s;                    ///< expected
  std::vector<double> arrivals_s = {};  ///< of chunks, since the start
};

/// The rate of the chunks that arrived while all flows were in flight. Pre: at least one did.
double rate_of(const End& end) {
  const auto& times = end.arrivals_s;
  const double from_s = window_begin * end.duration_s;
  const double to_s = std::min(window_end * end.duration_s, times.back());
  const auto chunks = std::upper_bound(times.begin(), times.end(), to_s) -
                      std::upper_bound(times.begin(), times.end(), from_s);
  if (chunks > 0) return static_cast<double>(chunks * end.chunk) / (to_s - from_s);
  return static_cast<double>(end.chunk) * static_cast<double>(times.size()) / times.back();
}

/// All ranks are on one machine and read the same clock.
double monotonic_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The time at which the last rank arrived here. A rank that waited for a long time may itself continue late.
double agreed_time() {
  double time_s = monotonic_s();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &time_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
  return time_s;
}

class Ends {
 public:
  Ends(MpiContext& context, Measurement& measurement) : context_(context), start_s_(agreed_time()) {
    for (std::size_t i = 0; i < measurement.flows.size(); ++i) {
      Flow& flow = measurement.flows[i];
      if (flow.from != context.rank() && flow.to != context.rank()) continue;
      // At least a hundred chunks, so that one more or less in the window does not matter.
      const std::int64_t chunk = std::clamp<std::int64_t>(flow.size.count() / 200, 1024, most_chunk_bytes);
      ends_.push_back({&flow, flow.from == context.rank(),
                       Channel{flow_stream, false, static_cast<std::int32_t>(i)}, chunk,
                       flow.size.count() / chunk,
                       static_cast<double>(flow.size.count()) / std::min(flow.expected.count(), 1e9)});
    }
  }

  /// Adds the rates of the flows whose receiver is this rank.
  void run(Rates& rates) {
    pending_.resize(ends_.size() * chunks_at_once);
    for (std::size_t place = 0; place < pending_.size(); ++place) start(place);
    while (std::any_of(pending_.begin(), pending_.end(), [](const auto& one) { return !one.empty(); })) {
      const std::size_t place = context_.wait_any(pending_).index;
      ended(ends_[place / chunks_at_once]);
      start(place);
    }
    for (auto& end : ends_)
      if (!end.sends) rates[end.flow].push_back(rate_of(end));
  }

 private:
  void start(std::size_t place) {
    End& end = ends_[place / chunks_at_once];
    if (end.left == 0) return;
    --end.left;
    const Rank peer = end.sends ? end.flow->to : end.flow->from;
    const Slice slice{Bytes(end.chunk)};
    pending_[place] =
        end.sends ? context_.send(peer, end.channel, slice, {}) : context_.receive(peer, end.channel, slice);
  }
  void ended(End& end) const {
    if (!end.sends) end.arrivals_s.push_back(monotonic_s() - start_s_);
  }

  MpiContext& context_;
  double start_s_;
  std::vector<End> ends_;
  std::vector<Pending> pending_;
};

void measure_rates(MpiContext& context, Measurement& measurement) {
  Rates rates;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    context.meet();
    Ends(context, measurement).run(rates);
  }
  for (auto& [flow, measured] : rates) flow->rate = upper_median(measured);
}

}  // namespace

void measure_links(MpiContext& context, std::vector<Measurement>& measurements,
                   const std::function<void(std::size_t done)>& after) {
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    Measurement& measurement = measurements[i];
    context.meet();
    if (measurement.kind == Measurement::Kind::bandwidth) {
      measure_rates(context, measurement);
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
