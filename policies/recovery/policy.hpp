// The interface of every recovery policy: the reaction of a job to departures and arrivals of machines. A
// pure object that turns events into decisions. No clock, I/O or global state; time arrives in the events.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "policies/vocabulary/catalog.hpp"
#include "policies/vocabulary/occupants.hpp"
#include "policies/vocabulary/policy_state.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::recovery {

using How = DepartureKind;

// A slot is a place for one machine: empty, requested, or occupied by a machine that waits or is a member. A
// member is a worker of the job. The machines of a slot are numbered by incarnations, which start at 1.

// ---- Events ----
// `now` is the job's clock, in seconds since its start; it never decreases. Slots are 0 to Setting::slots
// - 1.

/// The job begins. The first event, and the only one of its kind.
struct Started {
  Seconds now;
  int workers;  ///< the first incarnations in slots 0 to workers - 1 are members, all other slots are empty
  bool operator==(const Started&) const = default;
};
/// The machine in a slot will be taken away.
struct Warned {
  Seconds now;
  int slot;
  Seconds notice;  ///< from now until it is taken away
  bool operator==(const Warned&) const = default;
};
/// The job has noticed that a machine is gone: a member, a machine that waits, or one that was requested and
/// failed before it was ready. The slot is empty, unless a later incarnation is known to be there.
struct Departed {
  Seconds now;
  int slot;
  int incarnation;
  How how;
  bool operator==(const Departed&) const = default;
};
/// A machine is ready in the slot, requested or not, and waits to be admitted.
struct Ready {
  Seconds now;
  int slot;
  int incarnation;
  bool operator==(const Ready&) const = default;
};
/// The last Request for the slot failed: no machine is available there at present.
struct RequestFailed {
  Seconds now;
  int slot;
  bool operator==(const RequestFailed&) const = default;
};
/// The time of the last WakeAt has come.
struct Tick {
  Seconds now;
  bool operator==(const Tick&) const = default;
};
using Event = std::variant<Started, Warned, Departed, Ready, RequestFailed, Tick>;

// ---- Decisions ----
// They are carried out in their order.

/// Asks for a machine in the slot, which is empty. Ready, RequestFailed or Departed answers it.
struct Request {
  int slot;
  bool operator==(const Request&) const = default;
};
/// The machine that waits in the slot is a member from now on. It gets the state of training from a server,
/// otherwise from another member, otherwise from the last commit.
struct Admit {
  int slot;
  bool operator==(const Admit&) const = default;
};
/// The member in the slot is not a member from now on; its machine stays there and waits. Only when the job
/// begins, and where members start again anyway.
struct Release {
  int slot;
  bool operator==(const Release&) const = default;
};
/// Training stops: there are fewer than Setting::least members. They keep their state.
struct Pause {
  bool operator==(const Pause&) const = default;
};
/// Training continues after a Pause.
struct Resume {
  bool operator==(const Resume&) const = default;
};
/// All members, with those admitted just before, stop and start again from the last commit. Replaces a
/// Rollback that has not ended. If the job is paused, a Resume follows.
struct Rollback {
  bool operator==(const Rollback&) const = default;
};
/// Requests a Tick at that time, which is later than the event. Replaces the last WakeAt.
struct WakeAt {
  Seconds at;
  bool operator==(const WakeAt&) const = default;
};
/// The job ends without success. Always the last decision: none follows on this event or on later ones.
struct GiveUp {
  std::string why;
  bool operator==(const GiveUp&) const = default;
};
using Decision = std::variant<Request, Admit, Release, Pause, Resume, Rollback, WakeAt, GiveUp>;
using Decisions = std::vector<Decision>;

// ---- Policies ----

/// One object per job. Deterministic. Never requests a slot that is occupied or already requested, and never
/// admits one in which no machine waits. Pause and Resume alternate. There are never more members than
/// Setting::workers: further machines wait, and may be admitted when a member departs.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual void on_started(const Started& event, Decisions& decisions) = 0;
  virtual void on_warned(const Warned& event, Decisions& decisions) = 0;
  virtual void on_departed(const Departed& event, Decisions& decisions) = 0;
  virtual void on_ready(const Ready& event, Decisions& decisions) = 0;
  virtual void on_request_failed(const RequestFailed& event, Decisions& decisions) = 0;
  virtual void on_tick(const Tick& event, Decisions& decisions) = 0;
  /// Shows every value that events change; see serialised() and restore().
  virtual void serialise(PolicyState& state) = 0;
};

struct Setting {
  int workers = 1;     ///< that the job should have, at least 1
  int slots = 1;       ///< at least `workers`; the slots from `workers` on are for spares
  int least = 1;       ///< members; training pauses with fewer; 1 to `workers`
  Seconds give_up{0};  ///< longest time with fewer than `least` members; 0: no limit
  Options options = {};
  std::vector<std::size_t> zones = {};  ///< of each slot: machines of a zone fail together; empty: all in one
  std::string provisioning = "same";    ///< of provisioning::catalog(): which empty slots get the requests
  std::map<std::string, OptionValue> provisioning_options = {};
  std::vector<SlotMachine> machines = {};  ///< of each slot; empty: nothing is known
  /// Divides times of machines: those of `provisioning_options`, and waits until a request.
  double time_scale = 1.0;
  /// The share of machines that live beyond an age, both in the job's time; null: all stay.
  std::function<double(Seconds age)> survival = {};
};

/// Pre: the bounds above. Errors: OptionError; ConfigError for an unknown `provisioning`.
using Factory = std::unique_ptr<Policy> (*)(const Setting&);
const Catalog<Factory>& catalog();

// ---- Logs ----

/// One line each, e.g. "departed slot=2 incarnation=1 how=revoked now=3.5". Round-trips exactly.
std::string to_text(const Event& event);
/// Errors: ConfigError when the text is not an event.
Event parse_event(const std::string& text);
/// "admit slot=4; request slot=2; wake_at seconds=12.5"; "give_up why=" and the text of the reason up to the
/// end; empty if nothing was decided. Round-trips exactly.
std::string to_text(const Decisions& decisions);
/// Errors: ConfigError when the text is not a list of decisions.
Decisions parse_decisions(const std::string& text);

}  // namespace tandem::recovery
