#include "policies/sampling/member_deals.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::sampling {
namespace {

/// Numbers one after the other.
class Reader {
 public:
  explicit Reader(std::span<const std::int64_t> numbers) : numbers_(numbers) {}
  std::int64_t next() {
    TANDEM_CHECK(at_ < numbers_.size(), "numbers", numbers_.size());
    return numbers_[at_++];
  }
  std::vector<std::int64_t> list() {
    std::vector<std::int64_t> values(static_cast<std::size_t>(next()));
    for (std::int64_t& value : values) value = next();
    return values;
  }
  bool at_end() const { return at_ == numbers_.size(); }

 private:
  std::span<const std::int64_t> numbers_;
  std::size_t at_ = 0;
};

template <class Values>
void append_list(std::vector<std::int64_t>& numbers, const Values& values) {
  numbers.push_back(std::ssize(values));
  numbers.insert(numbers.end(), values.begin(), values.end());
}

constexpr std::int64_t none = -1;

std::int64_t count_numbers_of(const Deal& deal) {
  return 2 + std::ssize(deal.taken) + 4 * std::ssize(deal.returned);
}

void append_deal(std::vector<std::int64_t>& numbers, const Deal& deal) {
  append_list(numbers, deal.taken);
  numbers.push_back(std::ssize(deal.returned));
  for (const Returned& one : deal.returned)
    numbers.insert(numbers.end(), {one.deal, one.place, one.first, one.count});
}

Deal next_deal(Reader& reader) {
  Deal deal{.taken = reader.list()};
  deal.workers = static_cast<int>(deal.taken.size());
  deal.returned.resize(static_cast<std::size_t>(reader.next()));
  for (Returned& one : deal.returned) {
    one.deal = reader.next();
    one.place = reader.next();
    one.first = reader.next();
    one.count = reader.next();
  }
  return deal;
}

}  // namespace

MemberDeals::MemberDeals(std::size_t slots, std::size_t workers, std::span<const Deal> before,
                         const Rules& rules)
    : rules_(rules),
      deals_at_begin_(before.size()),
      all_slots_(static_cast<std::int64_t>(slots)),
      present_(static_cast<int>(workers)),
      places_(present_),
      slots_(rules.knows_samples ? slots : 0),
      open_(rules.knows_samples ? workers : 0),
      before_(before) {
  TANDEM_CHECK(workers > 0 && workers <= slots, slots, workers);
  for (const Deal& deal : before) closed_numbers_ += count_numbers_of(deal);
  if (!rules_.knows_samples) return;
  for (std::size_t slot = 0; slot < workers; ++slot)
    slots_[slot] = {.is_present = true, .place = static_cast<int>(slot)};
}

void MemberDeals::leave(int slot, std::int64_t counted) {
  --present_;
  if (!rules_.knows_samples) return;
  Slot& left = at(slot);
  TANDEM_CHECK(left.is_present, "slot", slot);
  for (const Held& held : left.held) {
    const std::int64_t first = std::max(counted, held.begin);
    if (held.end > first) returned_.push_back({held.deal, held.place, first - held.begin, held.end - first});
  }
  const int place = left.place;
  if (place != nowhere)
    open_[static_cast<std::size_t>(place)] = std::max<std::int64_t>(0, counted - left.begin);
  left = {.begin = counted};
  const auto waits =
      std::ranges::find_if(slots_, [](const Slot& one) { return one.is_present && one.place == nowhere; });
  if (place != nowhere && waits != slots_.end()) occupy(*waits, static_cast<std::size_t>(place));
}

void MemberDeals::occupy(Slot& slot, std::size_t place) {
  slot.place = static_cast<int>(place);
  slot.begin -= *open_[place];
  open_[place].reset();
}

bool MemberDeals::join(int slot, std::int64_t counted) {
  ++present_;
  if (!rules_.knows_samples) return present_ <= places_;
  Slot& joined = at(slot);
  TANDEM_CHECK(!joined.is_present, "slot", slot);
  joined = {.is_present = true, .begin = counted};
  auto place = static_cast<std::size_t>(slot);
  if (place >= open_.size() || !open_[place])
    place = static_cast<std::size_t>(
        std::ranges::find_if(open_, [](const auto& open) { return open.has_value(); }) - open_.begin());
  if (place == open_.size()) return false;
  occupy(joined, place);
  return true;
}

std::int64_t MemberDeals::count_numbers_of_change() const {
  const auto returned = std::min(std::ssize(returned_), most_returned(places_));
  return 4 + places_ + 2 * present_ + numbers_of_returned * returned;
}

MemberDeals::Change MemberDeals::deal(std::span<const std::int64_t> taken,
                                      std::span<const std::int64_t> counted) {
  TANDEM_CHECK(present_ > 0, "places", places_);
  Change change;
  if (!rules_.knows_samples) {
    closed_numbers_ += 2 + places_;
    places_ = present_;
    return change;
  }
  change.closed = {.workers = places(), .taken = std::vector<std::int64_t>(open_.size())};
  for (std::size_t place = 0; place < open_.size(); ++place)
    if (open_[place]) change.closed.taken[place] = *open_[place];
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    Slot& one = slots_[slot];
    if (!one.is_present) continue;
    // A worker that gets two deals at a time takes nothing of the first.
    const std::int64_t until = std::max(taken[slot], one.begin);
    std::erase_if(one.held, [&](const Held& held) { return !is_open(held, counted[slot]); });
    if (one.place != nowhere) {
      change.closed.taken[static_cast<std::size_t>(one.place)] = until - one.begin;
      if (until > std::max(one.begin, counted[slot]))
        one.held.push_back({static_cast<std::int64_t>(before_.size()), one.place, one.begin, until});
    }
    change.slots.push_back(static_cast<int>(slot));
    change.begin.push_back(until);
  }
  // Messages have a size that receivers expect. The rest comes with the next deal.
  const auto returned = std::min(std::ssize(returned_), most_returned(places_));
  change.closed.returned.assign(returned_.begin(), returned_.begin() + returned);
  returned_.erase(returned_.begin(), returned_.begin() + returned);
  append(change.closed);
  put(change.slots, change.begin);
  return change;
}

void MemberDeals::follow(const Change& change) {
  append(change.closed);
  put(change.slots, change.begin);
}

void MemberDeals::append(Deal deal) {
  closed_numbers_ += count_numbers_of(deal);
  before_.append(std::move(deal));
}

void MemberDeals::put(std::span<const int> slots, std::span<const std::int64_t> begin) {
  for (Slot& slot : slots_) {
    slot.is_present = false;
    slot.place = nowhere;
  }
  open_.assign(slots.size(), std::nullopt);
  present_ = places_ = static_cast<int>(slots.size());
  for (std::size_t place = 0; place < slots.size(); ++place)
    at(slots[place]) = {.is_present = true,
                        .place = static_cast<int>(place),
                        .begin = begin[place],
                        .held = std::move(at(slots[place]).held)};
}

bool MemberDeals::settle(std::span<const int> slots, std::span<const std::int64_t> taken,
                         std::span<const std::int64_t> counted) {
  if (!rules_.knows_samples) {
    present_ = static_cast<int>(slots.size());
    if (!is_due()) return false;
    deal({}, {});
    return true;
  }
  const auto stays = [&](int slot) {
    return std::ranges::binary_search(slots, slot) && taken[static_cast<std::size_t>(slot)] >= 0;
  };
  for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot)
    if (at(slot).is_present && !stays(slot)) leave(slot, counted[static_cast<std::size_t>(slot)]);
  for (const int slot : slots)
    if (!at(slot).is_present) join(slot, counted[static_cast<std::size_t>(slot)]);
  if (!is_due()) return false;
  std::vector<std::int64_t> until(counted.begin(), counted.end());
  // A worker that is behind takes its step in progress, which counts, before it begins with the new deal.
  for (const int slot : slots)
    if (std::int64_t& to = until[static_cast<std::size_t>(slot)]; stays(slot))
      to = std::max(to, taken[static_cast<std::size_t>(slot)]);
  deal(until, counted);
  return true;
}

bool MemberDeals::has_changed() const {
  if (!rules_.deals_again) return false;
  if (before_.size() != deals_at_begin_) return true;
  for (std::size_t place = 0; place < open_.size(); ++place)
    if (slots_[place].place != static_cast<int>(place) || slots_[place].begin != 0) return true;
  return false;
}

Deals MemberDeals::all(std::span<const std::int64_t> counted) const {
  // What never counts comes back, also from workers that are there.
  Deal present{.workers = places(), .taken = std::vector<std::int64_t>(open_.size()), .returned = returned_};
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    for (const Held& held : slots_[slot].held)
      if (const std::int64_t first = std::max(counted[slot], held.begin); held.end > first)
        present.returned.push_back({held.deal, held.place, first - held.begin, held.end - first});
  for (std::size_t place = 0; place < open_.size(); ++place)
    if (open_[place]) present.taken[place] = *open_[place];
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    if (slots_[slot].place != nowhere)
      present.taken[static_cast<std::size_t>(slots_[slot].place)] =
          std::max<std::int64_t>(0, counted[slot] - slots_[slot].begin);
  Deals deals = before_.list();
  deals.push_back(std::move(present));
  return deals;
}

std::optional<int> MemberDeals::place(int slot) const {
  TANDEM_CHECK(rules_.knows_samples, "slot", slot);
  const int place = slots_.at(static_cast<std::size_t>(slot)).place;
  return place == nowhere ? std::nullopt : std::optional(place);
}

std::int64_t MemberDeals::count_numbers(std::span<const std::int64_t> counted) const {
  std::int64_t held = 0;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot)
    held += std::ranges::count_if(slots_[slot].held,
                                  [&](const Held& one) { return is_open(one, counted[slot]); });
  return 4 * all_slots_ + 4 * held + 2 + places_ + numbers_of_returned * std::ssize(returned_) +
         closed_numbers_;
}

std::vector<std::int64_t> MemberDeals::to_numbers(std::span<const std::int64_t> counted) const {
  TANDEM_CHECK(rules_.knows_samples, "places", places_);
  std::vector<std::int64_t> numbers;
  for (std::size_t index = 0; index < slots_.size(); ++index) {
    const Slot& slot = slots_[index];
    std::vector<Held> held;
    std::ranges::copy_if(slot.held, std::back_inserter(held),
                         [&](const Held& one) { return is_open(one, counted[index]); });
    numbers.insert(numbers.end(), {slot.is_present ? 1 : 0, slot.place, slot.begin, std::ssize(held)});
    for (const Held& one : held) numbers.insert(numbers.end(), {one.deal, one.place, one.begin, one.end});
  }
  std::vector<std::int64_t> open;
  for (const auto& one : open_) open.push_back(one.value_or(none));
  append_deal(numbers, {.taken = open, .returned = returned_});
  for (std::size_t deal = 0; deal < before_.size(); ++deal) append_deal(numbers, before_[deal]);
  return numbers;
}

void MemberDeals::restore(std::span<const std::int64_t> numbers) {
  Reader reader(numbers);
  for (Slot& slot : slots_) {
    slot.is_present = reader.next() != 0;
    slot.place = static_cast<int>(reader.next());
    slot.begin = reader.next();
    slot.held.resize(static_cast<std::size_t>(reader.next()));
    for (Held& one : slot.held) {
      one.deal = reader.next();
      one.place = reader.next();
      one.begin = reader.next();
      one.end = reader.next();
    }
  }
  present_ = static_cast<int>(std::ranges::count(slots_, true, &Slot::is_present));
  Deal present = next_deal(reader);
  places_ = present.workers;
  open_.clear();
  for (const std::int64_t taken : present.taken)
    open_.push_back(taken == none ? std::nullopt : std::optional(taken));
  returned_ = std::move(present.returned);
  closed_numbers_ = 0;
  before_ = {};
  while (!reader.at_end()) append(next_deal(reader));
}

void MemberDeals::restore(const Counts& counts) {
  present_ = static_cast<int>(counts.present);
  places_ = static_cast<int>(counts.places);
  closed_numbers_ = counts.closed_numbers;
}

std::vector<std::int64_t> to_numbers(const MemberDeals::Change& change) {
  std::vector<std::int64_t> numbers;
  append_deal(numbers, change.closed);
  append_list(numbers, change.slots);
  append_list(numbers, change.begin);
  return numbers;
}

std::vector<MemberDeals::Change> changes_from(std::span<const std::int64_t> numbers, int count) {
  Reader reader(numbers);
  std::vector<MemberDeals::Change> changes(static_cast<std::size_t>(count));
  for (MemberDeals::Change& change : changes) {
    change.closed = next_deal(reader);
    for (const std::int64_t slot : reader.list()) change.slots.push_back(static_cast<int>(slot));
    change.begin = reader.list();
  }
  return changes;
}

void DealsOfWorker::follow(const MemberDeals& deals, int slot) {
  const auto place = deals.place(slot);
  TANDEM_CHECK(place.has_value(), "slot", slot);
  const std::int64_t begin = deals.begin(slot);
  // Nothing was taken of a deal that ends where it begins.
  while (!parts_.empty() && parts_.back().begin >= begin) parts_.pop_back();
  parts_.push_back({.before = deals.before(), .places = deals.places(), .place = *place, .begin = begin});
}

std::int64_t DealsOfWorker::until_next(std::int64_t taken, std::int64_t count) const {
  if (parts_.empty()) return count;
  return std::min(count, std::max<std::int64_t>(0, parts_.front().begin - taken));
}

std::optional<DealsOfWorker::Part> DealsOfWorker::take(std::int64_t taken) {
  if (parts_.empty() || parts_.front().begin > taken) return std::nullopt;
  Part part = std::move(parts_.front());
  parts_.pop_front();
  return part;
}

}  // namespace tandem::sampling
