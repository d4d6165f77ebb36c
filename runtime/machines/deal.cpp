#include "runtime/machines/deal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/text_parts.hpp"
#include "runtime/machines/name_lists.hpp"

namespace tandem::machines {
namespace {

/// GPUs are compared first.
struct Amount {
  long long gpus = 0;
  long long ranks = 0;
  auto operator<=>(const Amount&) const = default;
  Amount operator+(const Amount& other) const { return {gpus + other.gpus, ranks + other.ranks}; }
  Amount operator-(const Amount& other) const { return {gpus - other.gpus, ranks - other.ranks}; }
  bool fits(const Amount& room) const { return gpus <= room.gpus && ranks <= room.ranks; }
};

Amount need_of(const HostNeed& host) { return {host.gpu ? 1 : 0, host.ranks}; }

/// "8 GPUs and 1 rank".
std::string text_of(const Amount& amount) {
  if (amount.gpus == 0) return counted(amount.ranks, "rank");
  return counted(amount.gpus, "GPU") + (amount.ranks == 0 ? "" : " and " + counted(amount.ranks, "rank"));
}

/// Hosts that stay together where they fit.
struct Unit {
  std::vector<std::size_t> hosts;
  std::size_t levels;  ///< of smaller groups below
  Amount need;
};

class Deal {
 public:
  Deal(const std::vector<HostNeed>& hosts, const std::vector<MachineOffer>& machines)
      : hosts_(hosts), machine_of_(hosts.size()) {
    for (const auto& machine : machines) rooms_.push_back({machine.machine, {machine.gpus, machine.ranks}});
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      need_ = need_ + need_of(hosts[i]);
      if (hosts[i].machine.empty()) continue;
      for (Room& room : rooms_)
        if (room.name == hosts[i].machine) keep(room, hosts[i]);
    }
    for (const Room& room : rooms_) offer_ = offer_ + room.offer;
  }

  /// `packs`: each unit goes where the least remains free. `in_groups`: otherwise each host is dealt alone.
  /// False: a host has no machine.
  bool carry_out(bool packs, bool in_groups) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (hosts_[i].machine.empty()) open.push_back(i);
    if (!have_room(open)) return false;
    const bool has_groups = in_groups && !open.empty();
    std::vector<Unit> units = groups_of(open, has_groups ? hosts_[open.front()].groups.size() : 0);
    while (!units.empty()) {
      const auto largest = std::ranges::max_element(units, {}, &Unit::need);
      const Unit unit = std::move(*largest);
      units.erase(largest);
      Room* const room = packs ? tightest(unit) : next(unit);
      if (room == nullptr && unit.hosts.size() == 1) return false;
      if (room == nullptr) {
        const auto parts = groups_of(unit.hosts, unit.levels - 1);
        units.insert(units.begin(), parts.begin(), parts.end());
        continue;
      }
      room->used = room->used + unit.need;
      for (const std::size_t host : unit.hosts) machine_of_[host] = room;
      last_ = room;
    }
    return true;
  }

  std::vector<Mapped> result() {
    std::vector<Mapped> all;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      Room* const room = machine_of_[i];
      if (room == nullptr) continue;
      all.push_back({hosts_[i].host, room->name});
      if (hosts_[i].gpu) all.back().gpu = room->take_gpu();
    }
    return all;
  }

 private:
  struct Room {
    std::string name;
    Amount offer;
    Amount used = {};
    std::set<int> gpus = {};  ///< numbers that hosts have

    Amount left() const { return offer - used; }
    int take_gpu() {
      int number = 0;
      while (!gpus.insert(number).second) ++number;
      return number;
    }
  };

  /// Whether the machines together have room for these hosts.
  bool have_room(const std::vector<std::size_t>& open) const {
    Amount wanted, left;
    for (const std::size_t host : open) wanted = wanted + need_of(hosts_[host]);
    // One that has more than it offers takes nothing from the others.
    for (const Room& room : rooms_)
      left = left + Amount{std::max(room.left().gpus, 0LL), std::max(room.left().ranks, 0LL)};
    return wanted.fits(left);
  }

  /// A host that has this machine. Several may share a GPU.
  static void keep(Room& room, const HostNeed& host) {
    const bool is_new = host.gpu && room.gpus.insert(*host.gpu).second;
    room.used = room.used + Amount{is_new ? 1 : 0, host.ranks};
  }

  /// The groups of a level, counted from 1 for the smallest, in the order of their first hosts; 0: each host.
  std::vector<Unit> groups_of(const std::vector<std::size_t>& members, std::size_t level) const {
    std::vector<Unit> units;
    std::map<int, std::size_t> known;
    for (const std::size_t host : members) {
      std::size_t index = units.size();
      if (level > 0) index = known.try_emplace(hosts_[host].groups[level - 1], index).first->second;
      if (index == units.size()) units.push_back({{}, level, {}});
      units[index].hosts.push_back(host);
      units[index].need = units[index].need + need_of(hosts_[host]);
    }
    return units;
  }

  /// The rest of the machine's share, of the kind that the unit needs most; below 0: it has more than its
  /// share.
  double share_left(const Room& room, const Amount& need) const {
    const auto of = need.gpus > 0 ? &Amount::gpus : &Amount::ranks;
    const double all = static_cast<double>(std::max(offer_.*of, 1LL));
    return static_cast<double>(need_.*of) * static_cast<double>(room.offer.*of) / all -
           static_cast<double>(room.used.*of);
  }

  /// The machine of the unit before until it has its share, rounded up; then the one with most of its share.
  Room* next(const Unit& unit) {
    const auto wanted = static_cast<double>(unit.need.gpus > 0 ? unit.need.gpus : unit.need.ranks);
    if (last_ != nullptr && unit.need.fits(last_->left()) && wanted < share_left(*last_, unit.need) + 1.0)
      return last_;
    Room* best = nullptr;
    for (Room& room : rooms_)
      if (unit.need.fits(room.left()) &&
          (best == nullptr || share_left(room, unit.need) > share_left(*best, unit.need)))
        best = &room;
    return best;
  }

  Room* tightest(const Unit& unit) {
    Room* best = nullptr;
    for (Room& room : rooms_)
      if (unit.need.fits(room.left()) && (best == nullptr || room.left() < best->left())) best = &room;
    return best;
  }

  const std::vector<HostNeed>& hosts_;
  std::vector<Room> rooms_;
  std::vector<Room*> machine_of_;  ///< of each host that is dealt
  Room* last_ = nullptr;
  Amount need_, offer_;  ///< of all hosts and machines
};

std::optional<std::vector<Mapped>> try_deal(const std::vector<HostNeed>& hosts,
                                            const std::vector<MachineOffer>& machines) {
  for (const auto& [packs, in_groups] : {std::pair(false, true), {true, true}, {true, false}})
    if (Deal dealing(hosts, machines); dealing.carry_out(packs, in_groups)) return dealing.result();
  return std::nullopt;
}

/// "gpu-[0-7]: 1 GPU and 1 rank each; server: 2 ranks".
std::string needs_text(const std::vector<HostNeed>& hosts) {
  std::map<Amount, std::vector<std::string>, std::greater<>> hosts_of;
  for (const auto& host : hosts) hosts_of[need_of(host)].push_back(host.host);
  std::vector<std::string> parts;
  for (const auto& [need, names] : hosts_of)
    parts.push_back(fmt::format("{}: {}{}", list_of(names), text_of(need), names.size() == 1 ? "" : " each"));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string offers_text(const std::vector<MachineOffer>& machines) {
  std::vector<std::string> parts;
  for (const auto& machine : machines)
    parts.push_back(fmt::format("{}: {}", machine.machine, text_of({machine.gpus, machine.ranks})));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// "expected ..., found ..." for needs that no assignment can meet.
std::string problem_of(const std::vector<HostNeed>& hosts, const std::vector<MachineOffer>& machines) {
  Amount need, offer, most;
  for (const auto& host : hosts) need = need + need_of(host);
  for (const auto& machine : machines) {
    const Amount own{machine.gpus, machine.ranks};
    offer = offer + own;
    most = {std::max(most.gpus, own.gpus), std::max(most.ranks, own.ranks)};
  }
  if (!need.fits(offer))
    return fmt::format("expected machines with {} together, found {}", text_of(need), text_of(offer));
  for (const auto& host : hosts)
    if (!need_of(host).fits(most))
      return fmt::format("expected a machine with {} for host '{}', found none", text_of(need_of(host)),
                         host.host);
  return "expected machines that have room for each host, found too little left on all of them";
}

}  // namespace

std::vector<Mapped> deal(const std::vector<HostNeed>& hosts, const std::vector<MachineOffer>& machines) {
  if (auto dealt = try_deal(hosts, machines)) return *std::move(dealt);
  throw ConfigError(fmt::format(
      "--map auto: {}; give more machines or slots (a:8), or place hosts with --map HOST=MACHINE\n"
      "  needed: {}\n  offered: {}",
      problem_of(hosts, machines), needs_text(hosts), offers_text(machines)));
}

std::vector<Mapped> deal_on_fewest(const std::vector<HostNeed>& hosts, const MachineOffer& each) {
  for (const auto& host : hosts)
    if (!need_of(host).fits({each.gpus, each.ranks}))
      throw ConfigError(fmt::format("--map auto: host '{}': expected a machine with {}, found {}", host.host,
                                    text_of(need_of(host)), text_of({each.gpus, each.ranks})));
  std::vector<MachineOffer> machines;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(machines, name, &MachineOffer::machine) == machines.end())
      machines.push_back({name, each.ranks, each.gpus});
  };
  for (const auto& host : hosts)
    if (!host.machine.empty()) add(host.machine);
  // At last each host has a machine of its own.
  for (int number = 1;; ++number) {
    if (auto dealt = try_deal(hosts, machines)) return *std::move(dealt);
    add(fmt::format("node-{}", number));
  }
}

}  // namespace tandem::machines
