// What machines cost: the rules of bills, and a ledger of the occupants of a job. Amounts are integers of
// micro-dollars, times integers of microseconds. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/vocabulary/money.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::money {

/// How a provider bills a machine.
struct Billing {
  Money per_hour{};
  Seconds step{1.0};     ///< time is rounded up to whole ones of these; 0: exact
  Seconds minimum{0.0};  ///< less is not billed
  Seconds free_if_revoked_within{0.0};
};

/// How the stay of a machine ended: the job released it, or ended itself; its provider took it away, with or
/// without a notice; its limit of time was over, which is no revocation.
enum class StayEnd : std::uint8_t { released, revoked, limit };

/// The time that is billed. The free time first, then the step, then the minimum.
Seconds billed_time(const Billing& billing, Seconds stay, StayEnd end);
/// To the micro-dollar.
Money price_of(const Billing& billing, Seconds billed);

/// A whole in four parts. Of times: what a machine did. Of money: what was paid for it.
template <class Amount>
struct Uses {
  Amount useful{};   ///< for work that the job has kept
  Amount wasted{};   ///< for work that was lost; what is billed beyond the stay
  Amount idle{};     ///< without any work to do
  Amount waiting{};  ///< for other machines, loading, commits
  Uses& operator+=(const Uses& other) {
    useful += other.useful;
    wasted += other.wasted;
    idle += other.idle;
    waiting += other.waiting;
    return *this;
  }
  Amount sum() const { return useful + wasted + idle + waiting; }
};

/// The stay of one machine.
struct Entry {
  std::string machine{};  ///< its host, or the name of several
  std::string roles{};
  std::int64_t incarnation = 0;
  Seconds begin{}, end{};  ///< on the clock of the job
  StayEnd ended = StayEnd::released;
  Seconds stay{}, billed{};  ///< in the time of machines, see time_scale
  Billing billing{};
  Money cost{};
  Uses<Money> uses{};
};

class Ledger {
 public:
  /// `time_scale`: seconds of machines in a second of the job's clock.
  explicit Ledger(double time_scale = 1.0) : time_scale_(time_scale) {}
  /// Adds a stay of which machine, roles, incarnation, begin, end, ended and billing are given. `uses`: of
  /// the time between begin and end; what they lack of it is waiting.
  void add(Entry stay, Uses<Seconds> uses);
  const std::vector<Entry>& entries() const { return entries_; }
  /// The sum of the entries, which the sums of their uses are, too.
  Money cost() const;
  Uses<Money> uses() const;

 private:
  double time_scale_;
  std::vector<Entry> entries_;
};

}  // namespace tandem::money
