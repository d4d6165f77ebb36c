// A cache node or store that serves this rank, and may depart and come back: whether it takes requests, and
// how this rank joins the one that has come back.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/context.hpp"

namespace tandem {

/// Never blocks: what it waits for, its owner awaits.
class DepartingServer {
 public:
  /// As the job begins, it takes requests. `context` must outlive it.
  DepartingServer(Context& context, Rank rank) : context_(context), rank_(rank) {}

  Rank rank() const { return rank_; }
  bool takes_requests() const { return standing_ == Standing::joined; }
  bool is_away() const { return standing_ == Standing::away; }
  bool is_joining() const { return standing_ == Standing::joining; }

  /// Nobody is there as this rank begins.
  void be_absent() { standing_ = Standing::away; }
  /// It has departed: ends what is open between the two.
  void depart();
  /// Another one has come, of that incarnation: this rank, of incarnation `own`, joins it.
  void join(int own, int server);

  /// Puts what it waits for into `wait`, which is empty: nothing if `wait` stays empty. Pre: what was open
  /// before the departure has ended.
  void put_next(Pending& wait);
  /// That has ended so. True: it takes requests from now on.
  bool advance(const Completion& ended);
  /// This rank asks for nothing more. `last`: what put_next has given and has not ended, or empty. True: the
  /// server is, or will be, ready for a note that says so.
  bool close(Pending& last);

 private:
  enum class Standing : std::uint8_t { joined, away, joining };

  Context& context_;
  Rank rank_;
  Standing standing_ = Standing::joined;
  int own_ = 1, server_ = 1;     ///< incarnations of the two that join
  bool has_asked_ = false;       ///< the server that is there to welcome this rank
  bool awaits_welcome_ = false;  ///< put_next has given that
  std::int32_t heard_ = 0;       ///< incarnation of the one that was welcomed
  std::vector<Pending> ending_;  ///< what only has to end
};

}  // namespace tandem
