// Events and decisions of cache policies as single lines, for decisions.csv and scripts. Events read back
// exactly, so that they can be replayed.
#pragma once

#include <string>

#include "policies/cache/policy.hpp"

namespace tandem::cache {

/// "want epoch=1 now=5:785,6:785 ahead=7,8 low=0,1". Parts that have their default are left out; a size of
/// one byte too.
std::string to_text(const Want& event);
/// "arrived 5:785 store package here, 6:785 peer1 demand not-here".
std::string to_text(std::span<const Arrived> event);
/// "epoch epoch=2 lists=1,2;3,4 low=0,1,0 taken=1".
std::string to_text(const EpochBegins& event);
/// "importance job=1 losses=0.5,nan,2".
std::string to_text(int job, std::span<const float> losses);
/// "job state=probed benefit=0.5".
std::string to_text(const JobChange& event);
/// "peer node=1 joins=0".
std::string to_text(const PeerChange& event);
/// "directory 5@1,6@-1".
std::string to_text(std::span<const Holder> event);
/// "idle room=4096".
std::string idle_text(Bytes room);
/// Not an event: what follows is of a new policy. Where a cache node comes back, or finds what its disk has
/// kept.
inline const std::string new_policy_text = "begins";

/// "serve 5 store, 6 tier, 7=9 tier, 8~3 tier; prefetch store 1 2; pack 8 9; keep 5; drop 4; move 2 0>1;
/// publish 5": 7 is substituted by 9, and 8 changed places with 3. Tier and store 0 have no number. Empty if
/// nothing was decided.
std::string to_text(const Decisions& decisions);

/// Gives a recorded event to a policy. Errors: ConfigError with the text if it is no event.
void replay_event(CachePolicy& policy, const std::string& text, Decisions& decisions);

}  // namespace tandem::cache
