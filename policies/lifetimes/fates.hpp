// The departures of the machines of a job: when a slot can have an occupant, and when and how occupants
// depart. Events in, departures out; a pure object that is the same for every policy compared. Times are
// seconds since the job's start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "policies/lifetimes/lifetime.hpp"
#include "policies/vocabulary/occupants.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem::lifetimes {

using How = DepartureKind;

/// An occupant is in a slot from an arrival to a departure; its incarnation counts from 1.
struct Occupant {
  std::size_t slot = 0;
  std::int64_t incarnation = 1;
  bool operator==(const Occupant&) const = default;
};

struct Departure {
  double time = infinity;
  Occupant occupant;
  How how = How::revoked;
  bool operator==(const Departure&) const = default;
};

/// The fates of the occupants of all slots of a job. Calls are in the order of time.
class Fates {
 public:
  virtual ~Fates() = default;
  /// The first time from `time` on at which the slot can have an occupant; infinity if never.
  virtual double obtainable(std::size_t slot, double time) = 0;
  /// The slot has an occupant from now on. Pre: the slot is empty, and obtainable at this time.
  virtual void arrive(Occupant occupant, double time) = 0;
  /// The slot's occupant departs, because `next` says so or for another reason. Pre: the slot is not empty.
  virtual void depart(std::size_t slot, double time) = 0;
  /// The next departure, if no occupant arrives or departs before; of several at one time that of the lowest
  /// slot.
  virtual std::optional<Departure> next() const = 0;
  /// The departure of the slot's occupant, if it is known already and does not depend on other occupants.
  virtual std::optional<Departure> known(std::size_t) const { return std::nullopt; }
};

struct FatesSetting {
  std::uint64_t seed = 1;
  std::vector<std::size_t> groups;  ///< by slot: the zone or offer whose machines depart together
  Options options;
};

/// Occupants whose departure is known when they arrive.
class KnownFates : public Fates {
 public:
  double obtainable(std::size_t, double time) override { return time; }
  void arrive(Occupant occupant, double time) final;
  void depart(std::size_t slot, double time) final;
  std::optional<Departure> next() const final;
  std::optional<Departure> known(std::size_t slot) const final;

 protected:
  virtual Departure departure_of(Occupant occupant, double time) = 0;

 private:
  std::map<std::size_t, Departure> present_;               ///< by slot
  std::set<std::pair<double, std::size_t>> by_time_ = {};  ///< times of their departures, and their slots
};

/// The random numbers of one occupant. Its lifetime is drawn first.
Rng stream_of(std::uint64_t seed, Occupant occupant);

/// The options `limit`, `minimum` and `lost`, which every model has.
class CommonRules {
 public:
  explicit CommonRules(const Options& options);
  /// A lifetime with the minimum and the limit applied.
  double bounded(double lifetime) const;
  /// Lost with the probability `lost`, else revoked.
  How how(Rng& rng) const;
  double limit() const { return limit_; }
  double minimum() const { return minimum_; }

 private:
  double limit_;
  double minimum_;
  double lost_;
};

}  // namespace tandem::lifetimes
