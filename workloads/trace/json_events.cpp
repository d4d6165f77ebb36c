#include "workloads/trace/json_events.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::trace {
namespace {

constexpr int deepest = 64;
/// Longer lists of shapes are not used.
constexpr std::size_t longest_list = 4096;

bool has_list_value(Field field) {
  return field == Field::shapes || field == Field::types || field == Field::grid || field == Field::block;
}

/// Whether an event can be left out because of the fields read so far.
bool is_left_out(const Event& event, Field field) {
  if (field == Field::phase) return event.phase != "X";
  if (field == Field::category) return event.kind == Category::other;
  return field == Field::name && event.kind == Category::python && !event.name.starts_with("nn.Module: ");
}

std::optional<int> small_number(std::int64_t number) {
  if (number < 0 || number > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(number);
}

}  // namespace

void MetadataReader::key(const std::string& key, int depth) {
  if (depth == 1) top_key_ = key;
  key_ = key;
}

void MetadataReader::text(const std::string& value, int depth) {
  constexpr std::size_t longest_name = 128, most_devices = 1024;
  if (depth == 2 && top_key_ == "distributedInfo" && key_ == "backend")
    metadata_.backend = value.substr(0, longest_name);
  const bool is_device = depth == 3 && top_key_ == "deviceProperties" && key_ == "name";
  if (is_device && metadata_.devices.size() < most_devices)
    metadata_.devices[device_number_] = value.substr(0, longest_name);
}

void MetadataReader::number(std::int64_t value, int depth) {
  if (depth == 1) {
    if (key_ == "baseTimeNanoseconds" && nanoseconds_of(value / 1000)) metadata_.base = value;
    if (key_ == "with_stack") metadata_.has_stacks = value != 0;
    if (key_ == "record_shapes") metadata_.has_shapes = value != 0;
  } else if (depth == 2 && top_key_ == "distributedInfo") {
    if (key_ == "rank") metadata_.rank = small_number(value);
    if (key_ == "world_size") metadata_.world_size = small_number(value);
  } else if (depth == 3 && top_key_ == "deviceProperties" && key_ == "id") {
    device_number_ = value;
  }
}

void OuterText::begin(int depth, bool is_list) {
  if (nodes_depth_ > 0) {
    nodes_.begin(depth - nodes_depth_);
  } else if (is_list && depth == 2 && top_key() == "nodes") {
    nodes_depth_ = depth;
    has_nodes_ = true;
  }
}

void OuterText::end(int depth) {
  if (nodes_depth_ == 0) return;
  if (depth > nodes_depth_)
    nodes_.end(depth - nodes_depth_);
  else
    nodes_depth_ = 0;
}

void OuterText::key(const std::string& key, int depth) {
  if (nodes_depth_ > 0)
    nodes_.key(key, depth - nodes_depth_);
  else
    metadata_.key(key, depth);
}

void OuterText::text(const std::string& value, int depth) {
  if (nodes_depth_ > 0) {
    nodes_.text(value, depth - nodes_depth_);
    return;
  }
  metadata_.text(value, depth);
  if (depth == 1) logging_.text(metadata_.key(), value);
}

void OuterText::number(std::int64_t value, int depth) {
  if (nodes_depth_ > 0) {
    nodes_.number(value, depth - nodes_depth_);
    return;
  }
  metadata_.number(value, depth);
  if (depth == 1) logging_.number(metadata_.key(), value);
}

std::optional<JobDescription> OuterText::describe() {
  if (has_nodes_) return nodes_.describe();
  if (logging_.is_found()) return logging_.describe(file_);
  return std::nullopt;
}

JsonEvents::JsonEvents(TextSource& source, TraceBuilder& builder, std::function<void()> progress)
    : source_(source),
      builder_(builder),
      progress_(std::move(progress)),
      outer_(builder.metadata(), source.name()) {}

void JsonEvents::restart() {
  depth_ = list_depth_ = event_depth_ = collected_depth_ = 0;
  outer_.restart();
  is_skipped_ = has_args_ = false;
  field_ = Field::other;
  event_.clear();
}

bool JsonEvents::end_value() {
  source_.end_token();
  return true;
}

void JsonEvents::begin_nested() {
  source_.end_token();
  if (++depth_ > deepest)
    throw ConfigError(source_.name() + ": expected a trace, found JSON of more than " +
                      std::to_string(deepest) + " levels at byte " + std::to_string(source_.offset()));
}

bool JsonEvents::start_object(std::size_t) {
  if (collected_depth_ > 0) {
    collect("{");
    begin_nested();
    return true;
  }
  begin_nested();
  if (list_depth_ > 0 && depth_ == list_depth_ + 1) {
    event_depth_ = depth_;
    event_.clear();
    is_skipped_ = has_args_ = false;
  } else if (is_in_event() && depth_ == event_depth_ + 1) {
    has_args_ = field_ == Field::args;
  }
  if (list_depth_ == 0) outer_.begin(depth_, false);
  field_ = Field::other;
  return true;
}

bool JsonEvents::end_object() {
  source_.end_token();
  if (collected_depth_ > 0) {
    event_.text_of(field_)->append("}");
    --depth_;
    return true;
  }
  if (is_in_event() && depth_ == event_depth_) {
    builder_.add(event_);
    event_depth_ = 0;
    constexpr std::uint64_t often = 1U << 16U;
    if (++events_ % often == 0) progress_();
  }
  if (list_depth_ == 0) outer_.end(depth_);
  --depth_;
  field_ = Field::other;
  return true;
}

bool JsonEvents::start_array(std::size_t) {
  const bool is_top = depth_ == 0;
  if (collected_depth_ > 0) collect("[");
  begin_nested();
  if (is_top || (depth_ == 2 && event_depth_ == 0 && list_depth_ == 0 && outer_.top_key() == "traceEvents")) {
    list_depth_ = depth_;
    has_list_ = true;
    is_list_ = is_list_ || is_top;
  } else if (is_in_event() && has_args_ && depth_ == event_depth_ + 2 && has_list_value(field_)) {
    collected_depth_ = depth_;
    event_.text_of(field_)->assign("[");
  }
  if (list_depth_ == 0) outer_.begin(depth_, true);
  return true;
}

bool JsonEvents::end_array() {
  source_.end_token();
  if (collected_depth_ > 0) {
    event_.text_of(field_)->append("]");
    if (depth_ == collected_depth_) collected_depth_ = 0;
  } else if (list_depth_ == depth_) {
    list_depth_ = 0;
  }
  if (list_depth_ == 0) outer_.end(depth_);
  --depth_;
  return true;
}

/// Appends a value or a bracket to the list; one that becomes too long says nothing.
void JsonEvents::collect(const std::string& value) {
  std::string& text = *event_.text_of(field_);
  if (text.size() > longest_list) return;
  if (!text.empty() && text.back() != '[' && text.back() != '{') text += ',';
  text += value;
  if (text.size() > longest_list) text.assign(longest_list + 1, '?');
}

bool JsonEvents::key(std::string& value) {
  source_.end_token();
  if (is_in_event()) {
    if (collected_depth_ > 0) return true;
    const bool in_args = has_args_ && depth_ == event_depth_ + 1;
    field_ = Field::other;
    if (is_skipped_ ? in_args && (value == "Ev Idx" || value == "Profiler Event Index")
                    : in_args || depth_ == event_depth_)
      field_ = field_of(value, in_args);
    else if (is_skipped_ && depth_ == event_depth_ && value == "args")
      field_ = Field::args;
    return true;
  }
  outer_.key(value, depth_);
  return true;
}

bool JsonEvents::string(std::string& value) {
  source_.end_token();
  if (!is_in_event()) {
    outer_.text(value, depth_);
    return true;
  }
  if (collected_depth_ > 0) {
    std::string plain = value;
    std::ranges::replace_if(
        plain, [](unsigned char c) { return std::isalnum(c) == 0 && c != ' '; }, '_');
    collect('"' + plain + '"');
    return true;
  }
  if (std::string* text = event_.text_of(field_)) {
    text->assign(value, 0, longest_list);
    if (field_ == Field::category) event_.kind = category_of(value);
    is_skipped_ = is_skipped_ || is_left_out(event_, field_);
  }
  return true;
}

bool JsonEvents::number_unsigned(std::uint64_t value) {
  if (is_in_event() && field_ == Field::correlation) {
    event_.correlation = value;
    return end_value();
  }
  if (is_in_event() && field_ == Field::collective_sequence) {
    event_.collective_sequence = value;
    return end_value();
  }
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return end_value();
  return integer(static_cast<std::int64_t>(value));
}

bool JsonEvents::integer(std::int64_t value) {
  source_.end_token();
  if (!is_in_event())
    outer_.number(value, depth_);
  else if (collected_depth_ > 0)
    collect(std::to_string(value));
  else if (field_ == Field::time)
    event_.time = nanoseconds_of(value);
  else if (field_ == Field::duration)
    event_.duration = nanoseconds_of(value);
  else if (auto* number = event_.number_of(field_))
    *number = value;
  else if (auto* text = event_.text_of(field_))
    *text = std::to_string(value);  // processes, threads, groups
  return true;
}

bool JsonEvents::number_float(double, const std::string& text) {
  source_.end_token();
  if (!is_in_event()) return true;
  if (collected_depth_ > 0)
    collect("0");  // a shape has whole numbers only
  else if (field_ == Field::time)
    event_.time = nanoseconds_of(text);
  else if (field_ == Field::duration)
    event_.duration = nanoseconds_of(text);
  return true;
}

}  // namespace tandem::trace
