// bisect returns the index of the first item of an ordered list with a property, which all items after it have, too.
export function bisect(list, has) {
  let low = 0
  for (let high = list.length; low < high;) {
    const middle = low + high >> 1
    if (has(list[middle])) high = middle
    else low = middle + 1
  }
  return low
}
