#include "workloads/membership/departing_server.hpp"

#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

void DepartingServer::depart() {
  ending_.push_back(context_.disconnect(rank_));
  standing_ = Standing::away;
  has_asked_ = false;
}

void DepartingServer::join(int own, int server) {
  TANDEM_CHECK(is_away(), "rank", rank_, "incarnation", server);
  standing_ = Standing::joining;
  own_ = own;
  server_ = server;
}

void DepartingServer::put_next(Pending& wait) {
  TANDEM_CHECK(wait.empty(), "rank", rank_);
  if (is_joining() && ending_.empty() && !has_asked_) {
    has_asked_ = true;
    ending_.push_back(protocol::send<"arrivals">(
        context_, rank_, protocol::Arrived{.incarnation = own_, .receiver = server_}));
  }
  if (!ending_.empty()) {
    wait = std::move(ending_.back());
    ending_.pop_back();
    return;
  }
  if (!is_joining()) return;
  awaits_welcome_ = true;
  wait = protocol::receive<"welcomes">(context_, rank_,
                                       {Bytes(sizeof(welcomed_)), reinterpret_cast<std::byte*>(&welcomed_)});
}

/// A server that has not noticed a departure yet may welcome the one that is gone.
bool DepartingServer::advance(const Completion& ended) {
  const bool is_welcome = std::exchange(awaits_welcome_, false) && ended.outcome == Outcome::done;
  if (!is_welcome || !is_joining() || !has_asked_ || welcomed_ != own_) return false;
  standing_ = Standing::joined;
  return true;
}

bool DepartingServer::close(Pending& last) {
  if (!last.empty()) {
    if (awaits_welcome_) context_.cancel(last);
    context_.wait(last);
  }
  context_.wait_all(ending_);
  ending_.clear();
  return takes_requests() || has_asked_;
}

}  // namespace tandem
