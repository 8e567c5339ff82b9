package strictjson

import "bytes"

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func digits(data []byte, i int) int {
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	return i
}

// number returns the offset behind the number that begins at data[i].
func number(data []byte, i int) (int, *SyntaxError) {
	if data[i] == '-' {
		i++
	}
	whole := i
	if i = digits(data, i); i == whole {
		return i, fail(i, "a number lacks digits")
	}
	if data[whole] == '0' && i > whole+1 {
		return whole, fail(whole, "a number begins with a superfluous 0")
	}
	if i < len(data) && data[i] == '.' {
		fraction := i + 1
		if i = digits(data, fraction); i == fraction {
			return i, fail(i, "a number lacks digits behind its point")
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		exponent := i
		if i = digits(data, i); i == exponent {
			return i, fail(i, "a number lacks digits in its exponent")
		}
	}
	return i, nil
}

// HugeNumber finds the first number in a valid text that takes more than maxDigits digits
// when written out without an exponent. Exact arithmetic on such a number, 1e999999999 or
// 1e-999999999, costs memory and time without bound. A zero is one digit whatever its exponent,
// up to 18 digits of that, which parsers still read. The pointer is a JSON pointer to the number.
func HugeNumber(data []byte, maxDigits int) (pointer string, found bool) {
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == '"':
			i = skipQuoted(data, i)
		case c == '-' || isDigit(c):
			end, _ := number(data, i)
			if isHuge(data[i:end], maxDigits) {
				return PointerTo(data, i), true
			}
			i = max(end, i+1)
		default:
			i++
		}
	}
	return "", false
}

// isHuge adds the digits before the exponent and the exponent's size.
func isHuge(number []byte, maxDigits int) bool {
	mantissa, exponent := number, []byte(nil)
	if e := bytes.IndexAny(number, "eE"); e >= 0 {
		mantissa, exponent = number[:e], bytes.TrimLeft(number[e+1:], "+-0")
	}
	if zero := len(bytes.Trim(mantissa, "-0.")) == 0; zero || len(exponent) > 18 {
		return len(mantissa) > maxDigits || len(exponent) > 18
	}
	size := 0
	for _, c := range exponent {
		size = size*10 + int(c-'0')
	}
	return len(mantissa)+size > maxDigits
}
