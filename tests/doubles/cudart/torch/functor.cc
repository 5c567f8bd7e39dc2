#include "cudart/torch/functor.h"

#include <cmath>
#include <cstring>
#include <string>

#include "cudart/torch/name.h"

namespace safelaunch::testing {
namespace {

using Binary = std::function<Number(const Number&, const Number&)>;

int whole_field(const char* fields) {
  int value = 0;
  std::memcpy(&value, fields, sizeof value);
  return value;
}

Number truth(bool value) {
  return Number::of(std::int64_t{value});
}

/// An operation that stands within a BinaryFunctor, and how long it is.
struct Operation {
  std::function<Binary(const char* fields)> bind;
  std::size_t size;
  Type constant = Type::boolean;  ///< the type of what it takes
};

Operation logical(bool (*function)(bool, bool)) {
  return {[function](const char*) -> Binary {
            return [function](const Number& a, const Number& b) {
              return truth(function(!a.is_zero(), !b.is_zero()));
            };
          },
          1};
}

std::optional<Operation> operation_called(std::string_view name) {
  const auto is = [&](std::string_view one) { return name.find(one) != std::string_view::npos; };
  if (is("MulFunctor<")) return Operation{[](const char*) { return product; }, 1};
  if (is("DivFunctor<"))
    return Operation{[](const char*) -> Binary {
                       return [](const Number& a, const Number& b) {
                         return Number::of(a.real / b.real);
                       };
                     },
                     1};
  if (is("BitwiseAndFunctor<bool>")) return logical([](bool a, bool b) { return a && b; });
  if (is("BitwiseOrFunctor<bool>")) return logical([](bool a, bool b) { return a || b; });
  if (is("CompareEqFunctor<"))
    return Operation{[](const char* fields) -> Binary {
                       const bool wanted = whole_field(fields) == 0;  // EqOpType: EQ, NE
                       return [wanted](const Number& a, const Number& b) {
                         return truth(equal(a, b) == wanted);
                       };
                     },
                     sizeof(int)};
  return std::nullopt;
}

std::optional<Operation> operation_named(std::string_view name) {
  auto operation = operation_called(name);
  const std::size_t begin = name.find('<') + 1;
  const auto type = type_named(name.substr(begin, name.rfind('>') - begin));
  if (!operation || !type) return std::nullopt;
  operation->constant = *type;
  return operation;
}

/// The types that `names` name, if all are known.
std::optional<std::vector<Type>> types_named(const std::vector<std::string>& names) {
  std::vector<Type> types;
  for (const std::string& name : names) {
    const auto type = type_named(name);
    if (!type) return std::nullopt;
    types.push_back(*type);
  }
  return types;
}

/// BinaryFunctor<A, B, R, Op>, and with one side fixed AUnaryFunctor and BUnaryFunctor.
std::optional<Functor> binary_functor(std::string_view name) {
  enum class Fixed { none, first, second } fixed = Fixed::none;
  auto words = template_arguments(name, "BinaryFunctor");
  if (name.find("AUnaryFunctor<") != std::string_view::npos) {
    fixed = Fixed::first;
    words = template_arguments(name, "AUnaryFunctor");
  } else if (name.find("BUnaryFunctor<") != std::string_view::npos) {
    fixed = Fixed::second;
    words = template_arguments(name, "BUnaryFunctor");
  }
  if (words.size() != 4) return std::nullopt;
  const auto operation = operation_named(words[3]);
  const auto types = types_named({words[2], words[0], words[1]});
  if (!operation || !types) return std::nullopt;
  if (fixed == Fixed::none)
    return Functor{*types, [bind = operation->bind](const char* fields) -> Compute {
                     return [call = bind(fields)](const Number* in) { return call(in[0], in[1]); };
                   }};
  const bool first = fixed == Fixed::first;
  const Type constant = operation->constant;
  const std::size_t offset = aligned(operation->size, size_of(constant));
  return Functor{{(*types)[0], (*types)[first ? 2 : 1]},
                 [=, bind = operation->bind](const char* fields) -> Compute {
                   const Number value = load(constant, fields + offset);
                   return [=, call = bind(fields)](const Number* in) {
                     return first ? call(value, in[0]) : call(in[0], value);
                   };
                 }};
}

std::optional<Functor> fill(std::string_view name) {
  const auto types = types_named(template_arguments(name, "FillFunctor"));
  if (!types || types->size() != 1) return std::nullopt;
  return Functor{*types, [type = types->front()](const char* fields) -> Compute {
                   return [value = load(type, fields)](const Number*) { return value; };
                 }};
}

/// CUDAFunctor_add: self + alpha * other. CUDAFunctorOnSelf_add has the other one in itself,
/// CUDAFunctorOnOther_add the self.
std::optional<Functor> add(std::string_view name) {
  const auto both = types_named(template_arguments(name, "CUDAFunctor_add"));
  if (both && both->size() == 1) {
    const Type type = both->front();
    return Functor{{type, type, type}, [type](const char* fields) -> Compute {
                     return [alpha = load(calculated_in(type), fields)](const Number* in) {
                       return sum(in[0], product(alpha, in[1]));
                     };
                   }};
  }
  const bool has_self = name.find("CUDAFunctorOnOther_add<") != std::string_view::npos;
  const auto one = types_named(
      template_arguments(name, has_self ? "CUDAFunctorOnOther_add" : "CUDAFunctorOnSelf_add"));
  if (!one || one->size() != 1) return std::nullopt;
  const Type type = one->front();
  return Functor{{type, type}, [=, wide = calculated_in(type)](const char* fields) -> Compute {
                   const Number kept = load(wide, fields);
                   const Number alpha = load(wide, fields + size_of(wide));
                   return [=](const Number* in) {
                     return has_self ? sum(kept, product(alpha, in[0]))
                                     : sum(in[0], product(alpha, kept));
                   };
                 }};
}

std::optional<Functor> comparison(std::string_view name) {
  const auto types = types_named(template_arguments(name, "compare_scalar_kernel"));
  if (!types || types->size() != 1) return std::nullopt;
  const Type type = types->front();
  return Functor{{Type::boolean, type}, [type](const char* fields) -> Compute {
                   const int operation = whole_field(fields);  // OpType: GE, GT, LE, LT
                   const Number right = load(type, fields + aligned(sizeof(int), size_of(type)));
                   return [=](const Number* in) {
                     const bool is_equal = equal(in[0], right);
                     const bool is_less = less(in[0], right);
                     const bool is_more = less(right, in[0]);
                     switch (operation) {
                       case 0: return truth(is_more || is_equal);
                       case 1: return truth(is_more);
                       case 2: return truth(is_less || is_equal);
                       default: return truth(is_less);
                     }
                   };
                 }};
}

using Unary = Number (*)(const Number&);

Number same(const Number& number) {
  return number;
}

Number real(const Number& number, double (*function)(double)) {
  return Number::of(function(number.real));
}

/// Functors without fields, by the function of torch's that they stand in.
constexpr std::pair<std::string_view, Unary> kUnary[] = {
    {"float16_copy_kernel_cuda", same},
    {"direct_copy_kernel_cuda", same},
    {"neg_kernel_cuda",
     [](const Number& number) { return product(Number::of(std::int64_t{-1}), number); }},
    {"bitwise_not_kernel_cuda", [](const Number& number) { return truth(number.is_zero()); }},
    {"logical_not_kernel_cuda", [](const Number& number) { return truth(number.is_zero()); }},
    {"sqrt_kernel_cuda", [](const Number& number) { return real(number, std::sqrt); }},
    {"reciprocal_kernel_cuda", [](const Number& number) { return Number::of(1 / number.real); }},
};

Number magnitude(const Number& number) {
  return number.is_whole ? Number::of(std::abs(number.whole)) : real(number, std::fabs);
}

std::optional<Functor> unary(std::string_view name) {
  if (const auto types = types_named(template_arguments(name, "AbsFunctor"));
      types && types->size() == 1)
    return Functor{{types->front(), types->front()}, [](const char*) -> Compute {
                     return [](const Number* in) { return magnitude(in[0]); };
                   }};
  for (const auto& [function, call] : kUnary) {
    if (name.find(function) == std::string_view::npos) continue;
    auto types = types_named(lambda_parameters(name));
    if (!types || types->size() != 1) return std::nullopt;
    const bool is_brain = name.find("bfloat16_copy_kernel_cuda") != std::string_view::npos;
    const bool is_half = name.find("float16_copy_kernel_cuda") != std::string_view::npos;
    const Type output = is_brain ? Type::bfloat16 : is_half ? Type::float16 : types->front();
    if (function == "bitwise_not_kernel_cuda" && output != Type::boolean) return std::nullopt;
    return Functor{{output, types->front()},
                   [call = call](const char*) -> Compute {
                     return [call](const Number* in) { return call(in[0]); };
                   },
                   call == same};
  }
  return std::nullopt;
}

std::optional<Functor> choice(std::string_view name) {
  if (name.find("where_kernel_impl") == std::string_view::npos) return std::nullopt;
  const auto types = types_named(lambda_parameters(name));
  if (!types || types->size() != 3) return std::nullopt;
  return Functor{{(*types)[1], (*types)[0], (*types)[1], (*types)[1]}, [](const char*) -> Compute {
                   return [](const Number* in) { return in[0].is_zero() ? in[2] : in[1]; };
                 }};
}

}  // namespace

std::optional<Functor> functor_named(std::string_view name) {
  for (const auto find : {fill, add, binary_functor, comparison, unary, choice})
    if (auto functor = find(name)) return functor;
  return std::nullopt;
}

}  // namespace safelaunch::testing
