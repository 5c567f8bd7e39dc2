#include "safelaunch/redact/redactor.h"

#include <algorithm>

#include "characters.h"
#include "known_secrets.h"
#include "names.h"
#include "places.h"

namespace safelaunch::redact {
namespace {

std::string replaced(std::string_view text, SecretPlaces places) {
  std::sort(places.begin(), places.end(),
            [](const SecretPlace& a, const SecretPlace& b) { return a.begin < b.begin; });
  std::string result;
  std::size_t done = 0;
  for (const SecretPlace& place : places) {
    if (place.end <= done || place.begin >= place.end) continue;
    if (place.begin > done || done == 0) {
      result += text.substr(done, place.begin - done);
      result += kRedacted;
    }
    done = place.end;
  }
  return result.append(text.substr(done));
}

// Calls `see` with the text and with the text below each of its coats, and tells how many coats
// were taken off.
template <class See>
void for_each_layer(std::string_view text, std::span<const DecodedText> coats, See see) {
  see(text, 0);
  for (std::size_t i = 0; i < coats.size(); ++i) see(std::string_view(coats[i].text), i + 1);
}

SecretPlaces all_places(std::string_view text, const KnownSecrets& known) {
  const std::vector<DecodedText> coats = coats_of(text);
  SecretPlaces places;
  for_each_layer(text, coats, [&](std::string_view layer, std::size_t taken_off) {
    SecretPlaces found = secret_places(layer);
    known.find(layer, found);
    for (const SecretPlace& place : found)
      places.push_back(in_original(std::span(coats).first(taken_off), place));
  });
  return places;
}

// A command line as one text, in which each word keeps its length. Blanks hide every byte that
// could be taken for a word's end or for a structure that goes on in the next words, and every word
// that shows its secret on its own.
struct JoinedWords {
  std::string text = "$ ";  // else a first word would be the name of its whole line
  std::vector<std::size_t> begins;
};

JoinedWords joined(std::span<const std::string> words) {
  constexpr std::string_view kHidden = " \t\r\n\"'`\\[]{}()<>|";
  JoinedWords result;
  for (const std::string& word : words) {
    result.begins.push_back(result.text.size());
    const bool shown = !secret_places(word).empty();
    for (const char c : word) result.text += shown || kHidden.find(c) != kHidden.npos ? '_' : c;
    result.text += ' ';
  }
  return result;
}

// The secrets that the words show together, by word.
std::vector<SecretPlaces> places_in_words(std::span<const std::string> words) {
  std::vector<SecretPlaces> result(words.size());
  const JoinedWords all = joined(words);
  for (const SecretPlace& place : secret_places(all.text)) {
    const auto behind = std::upper_bound(all.begins.begin(), all.begins.end(), place.begin);
    if (behind == all.begins.begin()) continue;
    const auto i = static_cast<std::size_t>(behind - all.begins.begin()) - 1;
    std::size_t begin = place.begin - all.begins[i];
    while (begin < words[i].size() && is_space(words[i][begin])) ++begin;  // hidden in `all`
    const std::size_t end = std::min(place.end - all.begins[i], words[i].size());
    if (begin < end) result[i].push_back({begin, end});
  }
  return result;
}

// The first word of a value that was taken to the end of its line: elsewhere it may stand alone.
std::string_view first_word(std::string_view value) {
  return value.substr(0, value.find_first_of(" \t,;&"));
}

}  // namespace

struct Redactor::Memory {
  KnownSecrets known;
};

Redactor::Redactor() : memory_(std::make_unique<Memory>()) {}
Redactor::Redactor(const std::vector<std::string>& known_values) : Redactor() {
  for (const std::string& value : known_values) learn_value(value);
}
Redactor::Redactor(const Redactor& other) : memory_(std::make_unique<Memory>(*other.memory_)) {}
Redactor::Redactor(Redactor&&) noexcept = default;
Redactor& Redactor::operator=(Redactor&&) noexcept = default;
Redactor::~Redactor() = default;

void Redactor::learn_value(std::string_view secret) {
  memory_->known.add(secret);
}

void Redactor::learn_seen_value(std::string_view secret) {
  if (is_worth_learning(secret)) learn_value(secret);
}

void Redactor::learn(std::string_view text) {
  const std::vector<DecodedText> coats = coats_of(text);
  for_each_layer(text, coats, [&](std::string_view layer, std::size_t) {
    for (const SecretPlace& place : secret_places(layer)) {
      const std::string_view value = layer.substr(place.begin, place.end - place.begin);
      for (const std::string_view part : {value, first_word(value)}) learn_seen_value(part);
    }
  });
}

void Redactor::learn(std::string_view name, std::string_view value) {
  if (is_secret(name, value)) learn_value(value);
  for (const SecretPlace& place : secret_places(value))
    learn_value(value.substr(place.begin, place.end - place.begin));
}

void Redactor::learn(const Environment& environment) {
  for (const auto& [name, value] : environment) learn(name, value);
}

void Redactor::learn(std::span<const std::string> words) {
  const std::vector<SecretPlaces> places = places_in_words(words);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    for (const SecretPlace& place : places[i])
      learn_value(word.substr(place.begin, place.end - place.begin));
    for (const SecretPlace& place : secret_places(word))
      learn_value(word.substr(place.begin, place.end - place.begin));
    learn(word);
  }
}

std::string Redactor::redact(std::string_view text) const {
  return replaced(text, all_places(text, memory_->known));
}

std::vector<std::string> Redactor::redact(std::span<const std::string> words) const {
  std::vector<SecretPlaces> places = places_in_words(words);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const SecretPlace& place : all_places(words[i], memory_->known))
      places[i].push_back(place);
    result.push_back(replaced(words[i], std::move(places[i])));
  }
  return result;
}

std::string Redactor::redact(std::string_view name, std::string_view value) const {
  return is_secret(name, value) ? std::string(kRedacted) : redact(value);
}

bool is_secret(std::string_view name, std::string_view value) {
  return is_secret_value(kind_of_name(name), name, value);
}

}  // namespace safelaunch::redact
