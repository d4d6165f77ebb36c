// Walks through all orders of events of a small world.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tandem::testing {

/// Visits every world that may follow from the first one, each once. `World`: ordered, and copied.
template <class World>
class EveryOrder {
 public:
  virtual ~EveryOrder() = default;

  /// The first violation; empty: none.
  std::string run(World first) {
    add(std::move(first));
    while (!open_.empty() && found_.empty()) {
      const World world = std::move(open_.back());
      open_.pop_back();
      if (!step(world) && found_.empty()) found_ = violation_at_end(world);
    }
    return found_;
  }
  std::size_t states() const { return seen_.size(); }

 protected:
  /// Adds every world that may come next; false: nothing can happen any more.
  virtual bool step(const World& world) = 0;
  /// Of any world, and of one in which nothing can happen any more; empty: none.
  virtual std::string violation_of(const World& world) const = 0;
  virtual std::string violation_at_end(const World& world) const = 0;

  void add(World world) {
    if (found_.empty()) found_ = violation_of(world);
    if (seen_.insert(world).second) open_.push_back(std::move(world));
  }

 private:
  std::vector<World> open_;
  std::set<World> seen_;
  std::string found_;
};

}  // namespace tandem::testing
