package main

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	requirement "sigs.k8s.io/karpenter/pkg/scheduling"
)

// instanceType is one entry of the instance type file of `karpenter plan` (docs/reference/plan.md).
type instanceType struct {
	Name      string            `json:"name"`
	Labels    map[string]labels `json:"labels"`
	Capacity  map[string]string `json:"capacity"`
	Overhead  map[string]string `json:"overhead"`
	Offerings []offering        `json:"offerings"`
}

type offering struct {
	Zone                 string `json:"zone"`
	CapacityType         string `json:"capacityType"`
	PriceMicroUsdPerHour int64  `json:"priceMicroUsdPerHour"`
	Available            *bool  `json:"available"`
}

// labels are the values a machine of the type may have: one, several, or none at all.
type labels []string

func (l *labels) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*l = labels{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(text, &many); err != nil {
		return fmt.Errorf("a label is a string or a list of strings: %w", err)
	}
	*l = many
	return nil
}

// instanceTypesOf turns the file's types into upstream's. Their label keys count as well-known.
func instanceTypesOf(read []instanceType) []*cloudprovider.InstanceType {
	result := make([]*cloudprovider.InstanceType, len(read))
	for i, one := range read {
		zones, capacityTypes := map[string]bool{}, map[string]bool{}
		offerings := make(cloudprovider.Offerings, len(one.Offerings))
		for j, offer := range one.Offerings {
			zones[offer.Zone], capacityTypes[offer.CapacityType] = true, true
			offerings[j] = &cloudprovider.Offering{
				Available: offer.Available == nil || *offer.Available,
				Price:     float64(offer.PriceMicroUsdPerHour) / 1e6,
				Requirements: requirement.NewLabelRequirements(map[string]string{
					corev1.LabelTopologyZone: offer.Zone,
					v1.CapacityTypeLabelKey:  offer.CapacityType,
				}),
			}
		}
		result[i] = &cloudprovider.InstanceType{
			Name:         one.Name,
			Requirements: requirementsOf(one, keys(zones), keys(capacityTypes)),
			Offerings:    offerings,
			Capacity:     resources(one.Capacity),
			Overhead:     &cloudprovider.InstanceTypeOverhead{KubeReserved: resources(one.Overhead)},
		}
	}
	return result
}

func requirementsOf(one instanceType, zones, capacityTypes []string) requirement.Requirements {
	all := requirement.NewRequirements(
		requirement.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, one.Name),
		requirement.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zones...),
		requirement.NewRequirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityTypes...),
	)
	for key, values := range one.Labels {
		v1.WellKnownLabels.Insert(key)
		if len(values) == 0 {
			all.Add(requirement.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
		} else {
			all.Add(requirement.NewRequirement(key, corev1.NodeSelectorOpIn, values...))
		}
	}
	return all
}

func keys(set map[string]bool) []string {
	var all []string
	for key := range set {
		all = append(all, key)
	}
	return all
}

func resources(read map[string]string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, quantity := range read {
		list[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
	return list
}
