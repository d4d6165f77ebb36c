// When ranks begin to work.
#include <algorithm>
#include <limits>

#include "workloads/calibration/measurement.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/worker/worker.hpp"

namespace tandem::calibration {
namespace {

constexpr int round_trips = 9;

double time_in(const Completion& received) {
  return protocol::unpack<protocol::Clock>(received.note).time.count();
}

/// How much later the other rank's clock started than rank 0's, estimated from the fastest of some round
/// trips.
double later_zero_s(Context& context, Rank other) {
  double fastest_s = std::numeric_limits<double>::infinity();
  double later_s = 0.0;
  for (int i = 0; i < round_trips; ++i) {
    Pending answer = protocol::receive<"words">(context, other);
    const double start_s = context.now().count();
    Pending question = protocol::send<"words">(context, other, protocol::Clock{});
    const double their_s = time_in(context.wait(answer));
    const double end_s = context.now().count();
    context.wait(question);
    if (end_s - start_s >= fastest_s) continue;
    fastest_s = end_s - start_s;
    later_s = (start_s + end_s) / 2 - their_s;
  }
  return later_s;
}

void send_time(Context& context, double seconds) {
  Pending said = protocol::send<"words">(context, 0, protocol::Clock{Seconds(seconds)});
  context.wait(said);
}

/// The other side.
void answer_clock_requests(Context& context) {
  for (int i = 0; i < round_trips; ++i) {
    Pending question = protocol::receive<"words">(context, 0);
    context.wait(question);
    send_time(context, context.now().count());
  }
}

}  // namespace

Profile::StartOffsets measure_start_offsets(const Job& job, Context& context) {
  const int roles = job.roster().size();
  Profile::StartOffsets start_offsets{.model = job.real_math() ? job.model().name : "", .raw_s = {}};
  // A rank without a role does not start with a worker.
  if (context.rank() >= roles) return start_offsets;
  double ready_s = 0.0;
  {
    const int workers = static_cast<int>(job.roster().workers().size());
    Journal journal;
    const Worker worker(job, context, journal, context.rank() % workers);
    ready_s = context.now().count();
  }
  if (context.rank() > 0) {
    answer_clock_requests(context);
    send_time(context, ready_s);
    return start_offsets;
  }
  double first_zero_s = 0.0;
  start_offsets.raw_s.push_back(ready_s);
  for (Rank rank = 1; rank < roles; ++rank) {
    const double zero_s = later_zero_s(context, rank);
    Pending ready = protocol::receive<"words">(context, rank);
    start_offsets.raw_s.push_back(zero_s + time_in(context.wait(ready)));
    first_zero_s = std::min(first_zero_s, zero_s);
  }
  for (double& begin_s : start_offsets.raw_s) begin_s -= first_zero_s;
  return start_offsets;
}

}  // namespace tandem::calibration
