// A cache node or store that serves this rank, and may depart and come back: whether it takes requests, and
// how this rank joins it when it has come back.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/context.hpp"

namespace tandem {

/// Never blocks: its owner waits for its operations.
class DepartingServer {
 public:
  /// As the job begins, the server takes requests. `context` must outlive it.
  DepartingServer(Context& context, Rank rank) : context_(context), rank_(rank) {}

  Rank rank() const { return rank_; }
  bool takes_requests() const { return standing_ == Standing::joined; }
  bool is_away() const { return standing_ == Standing::away; }
  bool is_joining() const { return standing_ == Standing::joining; }

  /// The server is absent as this rank begins.
  void be_absent() { standing_ = Standing::away; }
  /// The server has departed: ends the open operations between the two ranks.
  void depart();
  /// Another server of incarnation `server` has come: this rank, of incarnation `own`, joins it.
  void join(int own, int server);

  /// Puts the operation for which it waits into `wait`, which is empty. If there is none, `wait` stays
  /// empty. Pre: operations from before the departure have ended.
  void put_next(Pending& wait);
  /// The operation of put_next has ended. True: the server takes requests from now on.
  bool advance(const Completion& ended);
  /// This rank has no further requests. `last`: the operation of put_next that has not ended, or empty.
  /// True: the server is, or will be, ready for a note about it.
  bool close(Pending& last);

 private:
  enum class Standing : std::uint8_t { joined, away, joining };

  Context& context_;
  Rank rank_;
  Standing standing_ = Standing::joined;
  int own_ = 1, server_ = 1;     ///< incarnations of this rank and of the server
  bool has_asked_ = false;       ///< the present server to welcome this rank
  bool awaits_welcome_ = false;  ///< put_next has given the receive of the welcome
  std::int32_t welcomed_ = 0;    ///< incarnation in the last welcome
  std::vector<Pending> ending_;  ///< operations that only have to end
};

}  // namespace tandem
