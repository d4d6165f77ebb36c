// Samples that another cache node has in its tiers. It reads and keeps nothing for others, so a read may
// bring only some of the samples, or none.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/sample_reads.hpp"

namespace tandem {

/// All reads are requested at once, those of many samples in several requests, each of which ends as a read
/// of its own.
class PeerSource : public SampleReads {
 public:
  /// The arguments must outlive it.
  PeerSource(Context& context, Rank peer, const cache::Manifest& manifest)
      : context_(context), peer_(peer), manifest_(manifest) {}
  Rank rank() const { return peer_; }
  void add(SampleRead read) override;
  void put_next(Pending& wait) override;
  void hear(const Note& note) override { found_ = protocol::unpack<protocol::Found>(note); }
  std::optional<SampleRead> finish() override;
  /// In which so many samples are asked for.
  static std::size_t requests_for(std::size_t samples) {
    return (samples + protocol::Found::most - 1) / protocol::Found::most;
  }
  bool is_idle() const { return requests_.empty(); }
  /// Tells the other node that no read follows. It ends only when all others have told it. Pre: is_idle().
  void say_end();
  void close() override;

 private:
  struct Request {
    SampleRead read;
    std::vector<std::byte> records = {};  ///< where the samples go to different places
    std::byte* into = nullptr;            ///< null when math is modelled
    Pending sent = {};
    Pending data = {};
  };
  void request(SampleRead read);
  void spread(const Request& request) const;

  Context& context_;
  Rank peer_;
  const cache::Manifest& manifest_;
  std::deque<Request> requests_;
  protocol::Found found_;  ///< of the oldest request
  Pending end_;
};

}  // namespace tandem
