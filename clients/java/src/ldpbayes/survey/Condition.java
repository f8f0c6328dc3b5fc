package ldpbayes.survey;

import static ldpbayes.SurveyException.requireValid;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import ldpbayes.mechanisms.Parameters;

/** The condition for asking a question: terms, each an answer to another question that is given or not. */
final class Condition {
    private static final int MAX_TERMS = 100;

    /** Whether one of the terms must hold, instead of all. */
    private final boolean isAny;
    private final List<Term> terms = new ArrayList<>();

    private Condition(Map<?, ?> entry, Map<Object, Set<String>> named) {
        isAny = entry.containsKey("any");
        boolean isList = isAny || entry.containsKey("all");
        if (isList) {
            Parameters.checkKeyCount(entry, 1);
        }
        List<?> list = isList
            ? (List<?>) entry.values().iterator().next() : Collections.singletonList(entry);
        requireValid(!list.isEmpty() && list.size() <= MAX_TERMS);
        for (Object term : list) {
            terms.add(new Term((Map<?, ?>) term, named));
        }
    }

    /**
     * Reads conditions, and checks that each hides a question whose answer may be missing, names answers, and
     * is in no cycle.
     *
     * @return the conditions by question; each follows those of the questions it names
     */
    static Map<String, Condition> readAll(Map<?, ?> entries, Map<Object, Set<String>> named) {
        Map<String, Condition> read = new LinkedHashMap<>();
        requireValid(!entries.isEmpty());
        for (Map.Entry<?, ?> each : entries.entrySet()) {
            requireValid(named.get(each.getKey()).contains(ParseValue.MISSING_TEXT));
            read.put((String) each.getKey(), new Condition((Map<?, ?>) each.getValue(), named));
        }
        Map<String, Condition> sorted = new LinkedHashMap<>();
        Set<String> opened = new HashSet<>();
        Deque<String> path = new ArrayDeque<>(read.keySet());
        while (!path.isEmpty()) {
            String name = path.peek();
            if (!opened.add(name)) {
                sorted.put(path.pop(), read.get(name)); // what it names is there already
                continue;
            }
            for (Term term : read.get(name).terms) {
                boolean isSorted = sorted.containsKey(term.feature);
                requireValid(isSorted || !opened.contains(term.feature));
                if (read.containsKey(term.feature) && !isSorted) {
                    path.push(term.feature);
                }
            }
        }
        return sorted;
    }

    /** Returns the questions whose conditions, in the order of {@link #readAll}, do not hold. */
    static Set<String> findHidden(Map<String, Condition> conditions, Map<String, ?> answers) {
        Set<String> hidden = new LinkedHashSet<>();
        for (Map.Entry<String, Condition> each : conditions.entrySet()) {
            Condition condition = each.getValue();
            boolean holds = !condition.isAny;
            for (Term term : condition.terms) {
                boolean termHolds = !hidden.contains(term.feature) && term.fits(answers.get(term.feature));
                holds = condition.isAny ? holds || termHolds : holds && termHolds;
            }
            if (!holds) {
                hidden.add(each.getKey());
            }
        }
        return hidden;
    }

    /** An answer to another question, which is given, or not. */
    private static final class Term {
        private final String feature;
        private final String value;
        private final boolean isNegated;

        Term(Map<?, ?> entry, Map<Object, Set<String>> named) {
            isNegated = entry.containsKey("not");
            Parameters.checkKeyCount(entry, isNegated ? 1 : 2);
            Map<?, ?> answer = isNegated ? (Map<?, ?>) entry.get("not") : entry;
            Parameters.checkKeyCount(answer, 2);
            feature = (String) answer.get("feature");
            value = (String) answer.get("value");
            requireValid(!value.equals(ParseValue.MISSING_TEXT) && named.get(feature).contains(value));
        }

        /** Returns whether the answer to the other question, which is asked, fits. */
        boolean fits(Object answer) {
            Object several = answer instanceof Collection ? ((Collection<?>) answer).toArray() : answer;
            boolean isGiven = false;
            for (Object each : several instanceof Object[] ? (Object[]) several : new Object[] {several}) {
                Object given = each instanceof CharSequence ? each.toString() : each;
                isGiven |= value.equals(ParseValue.categoryText(given));
            }
            return isGiven != isNegated;
        }
    }
}
