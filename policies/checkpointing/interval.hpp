// Formulas for checkpoints of a job that failures of machines stop: the best interval between commits, and
// the cost of commits and failures. Failures are exponential, with a mean time between failures (mtbf) of
// the whole job. For n independent machines, any of which stops the job, it is that of one machine divided
// by n.
#pragma once

#include "policies/vocabulary/units.hpp"

namespace tandem::checkpointing {

/// Times that a job loses to commits and failures.
struct Costs {
  Seconds commit;    ///< C: the job is blocked while its state is written
  Seconds load;      ///< R: reading the last commit; failures may happen meanwhile
  Seconds downtime;  ///< D: from a failure until loading starts; no failure happens meanwhile
};

// ---- Work between two commits, in seconds of useful work ----
// Pre (all): cost >= 0; mtbf > 0, finite.

/// sqrt(2 C mtbf): minimises the first-order waste. Source: Young, "A first order approximation to the
/// optimum checkpoint interval", CACM 17(9), 1974.
Seconds young_interval(Seconds cost, Seconds mtbf);
/// sqrt(2 C mtbf) (1 + sqrt(C / (2 mtbf)) / 3 + C / (18 mtbf)) - C for C < 2 mtbf, else mtbf. Source: Daly,
/// "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006.
Seconds daly_interval(Seconds cost, Seconds mtbf);
/// The interval that minimises segment_time per second of work: mtbf (1 + W(-exp(-C / mtbf - 1))), where W is
/// the principal branch of Lambert's function. Load and downtime do not change it. Relative error below
/// 1e-13. Source: the derivative of segment_time / work, set to zero.
Seconds optimal_interval(Seconds cost, Seconds mtbf);

// ---- Expected times ----

/// Expected time of a segment of work and its commit, with failures, each of which starts it again: exp(R /
/// mtbf) (mtbf + D) (exp((work + C) / mtbf) - 1). Source: renewal argument; with D = 0, Daly's complete cost
/// (2006).
Seconds segment_time(Seconds work, const Costs& costs, Seconds mtbf);
/// Expected time of a job of so much work in equal segments. Pre: segments >= 1.
Seconds job_time(Seconds work, int segments, const Costs& costs, Seconds mtbf);

// ---- Warnings ----

/// Whether a commit ends before a machine departs, for which `notice` was given. `left`: time until the
/// current round ends, after which the commit can start.
constexpr bool fits_notice(Seconds left, Seconds cost, Seconds notice) { return left + cost <= notice; }

}  // namespace tandem::checkpointing
