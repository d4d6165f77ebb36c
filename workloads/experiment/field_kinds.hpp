// How a struct declares its keys in a JSON document. Declarations need no JSON library; json_fields.hpp
// writes and reads the keys.
#pragma once

#include <cstdint>

namespace tandem {

/// `visit(value, field)` calls `field(key, member)`, or `field(key, member, Key)`, for each key. The value is
/// const when it is written. Members may be numbers, texts, times, other structs with Fields, and optional
/// values (null: none), lists, pairs and maps of such. A number that is NaN is null.
template <class T>
struct Fields;

/// The same for a struct that is a list in a document: `visit(value, element)` calls `element(member)` for
/// each.
template <class T>
struct Elements;

/// The texts of an enum: `of(value)`, and `parse(text)`, which is none for other texts.
template <class Enum>
struct Texts;

/// A type whose documents other code writes and reads: `write(value)` and `read(document)`.
template <class T>
struct OwnDocument;

enum class Key : std::uint8_t {
  required,
  optional,  ///< absent where the member is empty: no value, no elements, or 0
  added,     ///< absent only in the files of older versions
  nullable,  ///< absent in the files of older versions, and null where the member is empty
};

/// A number that is whole if it is a count ("12"), and not if it is a mean ("12.0").
struct MixedNumber {
  double value = 0;
  bool is_whole = false;

  MixedNumber() = default;
  MixedNumber(double mean) : value(mean) {}
  MixedNumber(std::int64_t count) : value(static_cast<double>(count)), is_whole(true) {}
  operator double() const { return value; }
};

}  // namespace tandem
