// Runs the trials of a survey with messages between ranks. Ordinary role code over Context, so it also runs
// in the simulator, where the true network is known.
#pragma once

#include "platforms/discovery/survey.hpp"
#include "workloads/context.hpp"

namespace tandem {

/// The bench of rank 0, which sends commands to the other ranks and takes part itself. One for a world, until
/// its destruction, which ends `serve_traffic` of the others. Pre: flows are between ranks of the world.
class TrafficBench final : public discovery::Bench {
 public:
  explicit TrafficBench(Context& context) : context_(context) {}
  ~TrafficBench() override;
  TrafficBench(const TrafficBench&) = delete;
  TrafficBench& operator=(const TrafficBench&) = delete;

  std::vector<double> rates(const discovery::Trial& trial) override;
  Seconds latency(int from, int to) override;

 private:
  Context& context_;
};

/// To be called by every other rank; returns when the bench has ended.
void serve_traffic(Context& context);

}  // namespace tandem
