// The common part of all recovery policies. It keeps account of the slots, admits waiting machines while
// workers are missing, pauses below the least number of members, and requests machines until there are as
// many as the policy wants.
#pragma once

#include <memory>
#include <optional>

#include "policies/provisioning/policy.hpp"
#include "policies/recovery/policy.hpp"
#include "policies/recovery/request_waits.hpp"
#include "policies/recovery/slots.hpp"
#include "policies/vocabulary/make_policy.hpp"

namespace tandem::recovery {

class SlotPolicy : public Policy {
 public:
  void on_started(const Started& event, Decisions& decisions) final;
  void on_warned(const Warned& event, Decisions& decisions) final;
  void on_departed(const Departed& event, Decisions& decisions) final;
  void on_ready(const Ready& event, Decisions& decisions) final;
  void on_request_failed(const RequestFailed& event, Decisions& decisions) final;
  void on_tick(const Tick& event, Decisions& decisions) final;
  void serialise(PolicyState& state) override;

 protected:
  /// Pre: those of Setting.
  SlotPolicy(const Setting& setting, const RequestRules& rules);

  /// The number of machines that the policy wants, present or requested. The number of slots limits it.
  virtual int wanted() const = 0;
  /// Whether waiting machines are admitted while training continues. They always are while it pauses.
  virtual bool admits(bool member_departed) const;
  /// Whether members stop and start again from the last commit when a member departs or is admitted.
  virtual bool rolls_back() const;
  /// A machine is ready in the slot; also for each machine when the job begins.
  virtual void arrived(std::size_t slot, Seconds now);
  /// Decides which of the present machines are members. Returns whether these have changed. Unless
  /// overridden, admits waiting machines while workers are missing, if `admits`.
  virtual bool choose_members(Seconds now, bool member_departed, Decisions& decisions);

  /// Pre: the slot's machine waits.
  void admit(std::size_t slot, Decisions& decisions);
  /// Pre: it is a member.
  void release(std::size_t slot, Decisions& decisions);

  int workers() const { return setting_.workers; }
  int least() const { return setting_.least; }
  bool is_paused() const { return paused_; }
  const Slots& slots() const { return slots_; }

 private:
  /// The change by an event.
  struct Change {
    std::optional<std::size_t> slot = std::nullopt;
    bool member_departed = false;
  };

  void settle(Seconds now, const Change& change, Decisions& decisions);
  void pause_or_continue(Seconds now, bool members_changed, Decisions& decisions);
  bool has_waited_too_long(Seconds now) const;
  void give_up(Decisions& decisions);
  Seconds earliest(std::size_t slot, Seconds now) const;
  std::optional<std::size_t> next_request(Seconds now, const Change& change) const;
  void request_machines(Seconds now, const Change& change, Decisions& decisions);
  void plan_tick(Seconds now, Decisions& decisions);

  Setting setting_;
  Slots slots_;
  RequestWaits waits_;
  std::unique_ptr<provisioning::Policy> provisioning_;
  bool started_ = false;
  bool paused_ = false;
  bool gave_up_ = false;
  Seconds paused_since_;
  std::optional<Seconds> tick_;  ///< that was requested
};

}  // namespace tandem::recovery
